package jsonrow

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// maxLine bounds a line, so that a file that is no text does not fill the memory.
const maxLine = 256 << 20

// lines reads one object from each line.
type lines struct {
	r    *bufio.Reader
	d    *Decoder
	name string
	n    int
	rows []int // lines of the rows of the last batch
	max  int
	done bool
	buf  []byte
}

// Placed reads rows and knows where they stand.
type Placed interface {
	batch.Reader
	Place(row int) string // of a row of the last batch: file and line
}

// Lines reads rows from a text with one object a line; empty lines are passed over. Batches have at
// most maxRows rows, 0 for 8192. Errors have the name of the text and the line in them.
func Lines(r io.Reader, name string, fields []types.Field, maxRows int) Placed {
	if maxRows <= 0 {
		maxRows = 8192
	}
	return &lines{r: bufio.NewReaderSize(r, 1<<16), d: NewDecoder(fields), name: name, max: maxRows}
}

// Next implements batch.Reader.
func (l *lines) Next(ctx context.Context) (batch.Batch, error) {
	l.rows = l.rows[:0]
	for !l.done && l.d.Len() < l.max {
		if err := ctx.Err(); err != nil {
			return batch.Batch{}, err
		}
		line, err := l.line()
		if err != nil && err != io.EOF {
			return batch.Batch{}, fmt.Errorf("%s: line %d: %w", l.name, l.n+1, err)
		}
		l.done = err == io.EOF
		l.n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := l.d.Decode(line); err != nil {
			return batch.Batch{}, fmt.Errorf("%s: line %d: %w", l.name, l.n, err)
		}
		l.rows = append(l.rows, l.n)
	}
	if l.d.Len() == 0 {
		return batch.Batch{}, io.EOF
	}
	return l.d.Batch(), nil
}

// Place is where a row of the last batch stands.
func (l *lines) Place(row int) string { return fmt.Sprintf("%s: line %d", l.name, l.rows[row]) }

func (l *lines) line() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		if err != bufio.ErrBufferFull {
			return l.buf, err
		}
		if len(l.buf) > maxLine {
			return nil, fmt.Errorf("longer than %d MB", maxLine>>20)
		}
	}
}

// Close implements batch.Reader.
func (l *lines) Close() error { return nil }
