package appendtbl

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

const (
	pendingRows  = 8192
	pendingBytes = 4 << 20
	pendingParts = 256
)

// pending joins small batches before they are written, so that many small writes do not make files of
// small pieces.
type pending struct {
	w     FileWriter
	recs  []arrow.RecordBatch
	refs  []batch.Ref
	bytes int64
}

// add takes the rows sel of a batch, nil for all.
func (p *pending) add(rec arrow.RecordBatch, sel []int32) error {
	if sel == nil && rec.NumRows() >= pendingRows {
		if err := p.flush(); err != nil {
			return err
		}
		return p.w.Write(rec)
	}
	src := int32(len(p.recs))
	p.recs = append(p.recs, rec)
	if sel == nil {
		for i := range rec.NumRows() {
			p.refs = append(p.refs, batch.Ref{Src: src, Row: int32(i)})
		}
	}
	for _, row := range sel {
		p.refs = append(p.refs, batch.Ref{Src: src, Row: row})
	}
	p.bytes += batch.Retained(rec)
	if len(p.refs) >= pendingRows || p.bytes >= pendingBytes || len(p.recs) >= pendingParts {
		return p.flush()
	}
	return nil
}

func (p *pending) flush() error {
	if len(p.refs) == 0 {
		return nil
	}
	err := p.write(p.refs)
	p.recs, p.refs, p.bytes = nil, nil, 0
	return err
}

func (p *pending) write(refs []batch.Ref) error {
	cols := make([]int, p.recs[0].NumCols())
	for i := range cols {
		cols[i] = i
	}
	rec, err := batch.GatherBatch(p.recs[0].Schema(), p.recs, cols, batch.Select(refs))
	if isTooLarge(err) && len(refs) > 1 {
		if err := p.write(refs[:len(refs)/2]); err != nil {
			return err
		}
		return p.write(refs[len(refs)/2:])
	}
	if err != nil {
		return err
	}
	return p.w.Write(rec)
}
