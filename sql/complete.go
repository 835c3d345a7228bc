package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/sql/parse"
)

// Complete gives what the last word of a text that somebody types can become: keywords, databases, tables, columns of
// the tables that the text names. word is that part of the text which the names begin with.
func (s *Session) Complete(ctx context.Context, text string) (word string, names []string) {
	start := len(text)
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	word = text[start:]
	add := func(all ...string) {
		for _, n := range all {
			if len(n) > len(word) && strings.EqualFold(n[:len(word)], word) {
				names = append(names, n)
			}
		}
	}
	if s.cat == nil {
		return word, nil
	}
	// After "database." come its tables.
	if rest, ok := strings.CutSuffix(text[:start], "."); ok {
		i := len(rest)
		for i > 0 && isNameByte(rest[i-1]) {
			i--
		}
		before := rest[i:]
		if tables, _ := s.cat.Tables(ctx, before); len(tables) > 0 { // those that can be told of
			add(tables...)
		} else {
			add(s.columnsNamed(ctx, text)...)
		}
		return word, sorted(names)
	}
	if word == "" {
		return word, nil
	}
	if dbs, err := s.cat.Databases(ctx); err == nil {
		add(dbs...)
	}
	if s.db != "" {
		tables, _ := s.cat.Tables(ctx, s.db)
		add(tables...)
	}
	add(s.columnsNamed(ctx, text)...)
	if len(names) == 0 {
		for _, k := range keywords {
			if word == strings.ToLower(word) {
				k = strings.ToLower(k)
			}
			add(k)
		}
	}
	return word, sorted(names)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// columnsNamed are the columns of tables that a text has the names of.
func (s *Session) columnsNamed(ctx context.Context, text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r < 128 && r != '.' && !isNameByte(byte(r)) }) {
		db, tab, ok := strings.Cut(w, ".")
		if !ok {
			db, tab = "", w
		}
		if db == "" && s.db == "" || tab == "" {
			continue
		}
		t, err := s.table(ctx, parse.TableName{Database: db, Table: tab})
		if err != nil {
			continue
		}
		fields, err := t.Fields()
		if err != nil {
			continue
		}
		for _, f := range fields {
			out = append(out, f.Name)
		}
	}
	return out
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 128
}

var keywords = []string{
	"ALTER TABLE", "BETWEEN", "CALL sys.", "COLUMN", "COMMENT", "CREATE DATABASE", "CREATE TABLE", "DELETE FROM", "DESCRIBE", "DISTINCT", "DROP TABLE",
	"EXPLAIN", "FROM", "GROUP BY", "HAVING", "INSERT INTO", "INSERT OVERWRITE", "INNER JOIN", "JOIN", "LEFT JOIN", "LIMIT", "ORDER BY", "PARTITION",
	"PARTITIONED BY", "PRIMARY KEY", "RENAME", "SELECT", "SHOW CREATE TABLE", "SHOW DATABASES", "SHOW PARTITIONS", "SHOW PROCEDURES", "SHOW TABLES",
	"TRUNCATE TABLE", "UNION ALL", "UPDATE", "USE", "VALUES", "VERSION AS OF", "WHERE", "WITH",
}
