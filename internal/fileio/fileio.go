// Package fileio is the one way to files: local disks, memory, object stores. Everything above it
// sees an FS. Paths are slash-separated; a path of a local FS is a file-system path, one of an
// object store starts with its scheme and bucket (s3://bucket/key).
package fileio

import (
	"context"
	"io"
	"iter"
	"time"
)

// FS is a file system. All methods are safe for concurrent use. Errors wrap fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission of the standard library where they apply and name the path.
type FS interface {
	// Open opens a file for reading.
	Open(ctx context.Context, path string) (File, error)
	// Create starts a new file, parents included. The file exists, whole, when Close of the writer
	// returned without an error; until then, and after Abort, nobody sees it (object stores) or it
	// may be seen unfinished under its name (local; nothing refers to it yet).
	Create(ctx context.Context, path string) (Writer, error)
	// PutIfAbsent writes a small file at once if there is none of that name; else the error is
	// fs.ErrExist and nothing changes. It is atomic: of several callers one wins, and no reader ever
	// sees a part of the file. An error that is neither fs.ErrExist nor ErrRefused leaves open whether it was written.
	// It is durable when it returns, if the file system syncs.
	PutIfAbsent(ctx context.Context, path string, data []byte) error
	// Put writes a small file at once, replacing atomically what is there.
	Put(ctx context.Context, path string, data []byte) error
	// Rename moves a file or folder. It refuses to overwrite. It is atomic on local disks; on object
	// stores it copies and then deletes.
	Rename(ctx context.Context, from, to string) error
	// Stat tells of a file or folder.
	Stat(ctx context.Context, path string) (Info, error)
	// List gives the files and folders directly in a folder, ordered by name. A folder that does not
	// exist is empty.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Delete removes files, or folders with all that is in them. What does not exist is no error.
	Delete(ctx context.Context, paths ...string) error
	// Sync makes files written by Create, and the folders that name them, durable; it works on all
	// of them in parallel. Object stores have nothing to do.
	Sync(ctx context.Context, paths ...string) error
}

// Info describes a file or folder.
type Info struct {
	Path    string // whole, as given to List plus the name
	Size    int64
	ModTime time.Time
	IsDir   bool
}

// File is an open file. Its methods are safe for concurrent use.
type File interface {
	io.ReaderAt
	Size() int64
	Close() error
	// ReadRanges reads several ranges; neighbours are read together and, on object stores, ranges are
	// read in parallel. The result has one slice for each range.
	ReadRanges(ctx context.Context, ranges []Range) ([][]byte, error)
}

// Range is a piece of a file.
type Range struct{ Offset, Length int64 }

// Writer writes a file from start to end. Close makes it whole; Abort drops it. One of the two must
// be called; a second call of either does nothing.
type Writer interface {
	io.Writer
	Close() error
	Abort() error
}
