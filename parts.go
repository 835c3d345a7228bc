package tarn

import (
	"context"
	"strings"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
)

// BatchReader gives batches until io.EOF. It is used by one goroutine at a time and has to be closed.
type BatchReader = batch.Reader

// SplitRaw takes out of the plan the files that any reader of Parquet reads right: those without rows
// to merge or leave out, written with the table's present schema. It returns their paths, and a plan of
// the rest. Filters of the plan are not applied to the files.
func (p *Plan) SplitRaw() (files []string, rest *Plan) {
	r := *p
	r.splits = nil
	for i := range p.splits {
		s := &p.splits[i]
		raw := s.Raw
		for _, f := range s.Files {
			raw = raw && f.SchemaID == p.t.schema.ID && strings.HasSuffix(f.Name, ".parquet")
		}
		paths := make([]string, 0, len(s.Files))
		for _, f := range s.Files {
			_, path, err := p.t.files.Path(context.Background(), datafile.Location{Partition: s.Partition, Bucket: s.Bucket}, f)
			if err != nil { // reading the split will tell
				raw = false
				break
			}
			paths = append(paths, path)
		}
		if raw {
			files = append(files, paths...)
		} else {
			r.splits = append(r.splits, *s)
		}
	}
	return files, &r
}

// Parts is the number of pieces that OpenPart reads.
func (p *Plan) Parts() int {
	if p.system != nil {
		return 1
	}
	return len(p.splits)
}

// Rows is the number of rows of the plan's files, before merging and filters.
func (p *Plan) Rows() int64 {
	if p.system != nil {
		return p.system.NumRows()
	}
	var n int64
	for i := range p.splits {
		n += p.splits[i].Rows()
	}
	return n
}

// OpenPart reads one piece of the plan, with these of its columns. Pieces may be read at the same time.
func (p *Plan) OpenPart(ctx context.Context, part int, columns []string) BatchReader {
	q := *p
	q.req.Parallel = 1
	q.req.Fields = nil
	all := p.req.Fields
	for _, c := range columns {
		for _, f := range all {
			if f.Name == c {
				q.req.Fields = append(q.req.Fields, f)
			}
		}
	}
	if p.system == nil {
		q.splits = p.splits[part : part+1]
	}
	return q.Reader(ctx)
}
