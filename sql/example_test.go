//go:build duckdb_arrow && cgo

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

func ExampleSession_Query() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cat, err := tarn.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{})
	defer func() { _ = s.Close() }()
	err = s.Run(ctx, `CREATE DATABASE shop;
		CREATE TABLE shop.users (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')`,
		func(*sql.Result) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	for id, name := range []string{"Ann", "Bob", "Eve", "O'Neil"} {
		r, err := s.Query(ctx, `INSERT INTO shop.users VALUES (?, ?)`, id, name)
		if err != nil {
			log.Fatal(err)
		}
		if err := r.Close(); err != nil {
			log.Fatal(err)
		}
	}
	r, err := s.Query(ctx, `SELECT name FROM shop.users WHERE id >= $1 ORDER BY id LIMIT $2`, 1, 10)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		rec, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			fmt.Println(rec.Column(0).ValueStr(i))
		}
	}
	// Output:
	// Bob
	// Eve
	// O'Neil
}

// A script makes a table, fills it and asks it.
func ExampleSession_Run() {
	ctx := context.Background()
	cat, err := tarn.Open(ctx, "memory:/lake", nil)
	if err != nil {
		log.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{})
	defer s.Close()
	err = s.Run(ctx, `
		CREATE DATABASE shop;
		CREATE TABLE shop.orders (id INT PRIMARY KEY NOT ENFORCED, amount INT) WITH ('bucket' = '1');
		INSERT INTO shop.orders VALUES (1, 10), (2, 20), (2, 25);
		SELECT count(*), sum(amount) FROM shop.orders`,
		func(r *sql.Result) error {
			if r.Fields == nil {
				return nil // a statement without rows
			}
			for {
				rec, err := r.Next(ctx)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				fmt.Println(rec.Column(0), rec.Column(1))
			}
		})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [2] [35]
}
