package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/tarnlake/tarn/cdc/decode"
)

// checkBytes is how many bytes before a position are checked on resumption.
const checkBytes = 256

// placed is a position as it is kept.
type placed struct {
	Version int    `json:"v"`
	File    string `json:"file"`
	Offset  int64  `json:"offset"` // bytes
	Line    int64  `json:"line"`   // lines before it
	Events  int64  `json:"events"` // of all files
	Check   uint32 `json:"check"`  // of the bytes before it
}

const positionVersion = 1

func parsePosition(b []byte) (placed, error) {
	var p placed
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("files: the position %q is not one of this source: %w", b, err)
	}
	if p.Version != positionVersion || p.Offset < 0 || p.Events < 0 || p.File == "" {
		return p, fmt.Errorf("files: the position %q is not one that this version knows", b)
	}
	return p, nil
}

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// position is the place behind an event.
type position struct {
	file   string
	offset int64
	line   int64
	events int64
	before []byte // what stands before it, at least checkBytes or all there is
}

// MarshalBinary implements decode.Position.
func (p *position) MarshalBinary() ([]byte, error) {
	tail := p.before[max(0, len(p.before)-checkBytes):]
	return json.Marshal(placed{positionVersion, p.file, p.offset, p.line, p.events, checksum(tail)})
}

// is tells whether p is the place that was kept, where the line may have had no end yet.
func (p *position) is(kept placed) bool {
	for _, end := range []string{"", "\n", "\r\n"} {
		b, ok := bytes.CutSuffix(p.before, []byte(end))
		if ok && p.offset-int64(len(end)) == kept.Offset && checksum(b[max(0, len(b)-checkBytes):]) == kept.Check {
			return true
		}
	}
	return false
}

// String names the line of the event.
func (p *position) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// reader makes events of what is read. Each buffer is new, since events refer to it.
type reader struct {
	decoder decode.Decoder
	maxLine int

	file   string
	offset int64 // of the next line
	line   int64 // lines before it
	events int64

	history []byte // bytes before offset, up to checkBytes
	rest    []byte // an unfinished line
	buf     []byte // history, rest and room for what is read next
	tooLong []byte // the beginning of the unfinished line if that is over the limit; its end is awaited
	out     []decode.Event
	places  []position
}

// start begins a file, or goes on in it behind history.
func (r *reader) start(file string, offset, line, events int64, history []byte) {
	r.file, r.offset, r.line, r.events = file, offset, line, events
	r.history, r.rest, r.tooLong = history, nil, nil
}

// buffer gives room to read about n bytes into; more if a long line is being read.
func (r *reader) buffer(n int) []byte {
	lead := len(r.history) + len(r.rest)
	r.buf = make([]byte, lead+max(n, len(r.rest)))
	copy(r.buf, r.history)
	copy(r.buf[len(r.history):], r.rest)
	return r.buf[lead:]
}

// lines gives the events of the lines that end in the n bytes read into the buffer.
func (r *reader) lines(n int) []decode.Event {
	start := len(r.history)
	scan := start + len(r.rest) // which has no line end
	whole := r.buf[:scan+n]
	r.buf = nil
	r.out, r.places = r.out[:0], nil
	for {
		i := bytes.IndexByte(whole[scan:], '\n')
		if i < 0 {
			break
		}
		end := scan + i + 1
		r.take(whole, start, end)
		start, scan = end, end
	}
	r.keep(whole, start)
	return r.out
}

// finish gives the event of a last line without an end.
func (r *reader) finish() []decode.Event {
	if len(r.rest) == 0 && r.tooLong == nil {
		return nil
	}
	whole := append(bytes.Clone(r.history), r.rest...)
	r.out, r.places = r.out[:0], nil
	r.take(whole, len(r.history), len(whole))
	r.keep(whole, len(whole))
	return r.out
}

// keep remembers what stands before the next line, and the beginning of that.
func (r *reader) keep(whole []byte, start int) {
	r.history = bytes.Clone(whole[max(0, start-checkBytes):start])
	if rest := whole[start:]; r.tooLong != nil || len(bytes.TrimRight(rest, "\r")) > r.maxLine {
		r.offset += int64(len(rest))
		if r.tooLong == nil {
			r.tooLong = r.head(rest)
		}
		r.history = bytes.Clone(whole[max(0, len(whole)-checkBytes):])
		r.rest = nil
	} else {
		r.rest = bytes.Clone(rest)
	}
}

// head is what is kept of a line that is too long.
func (r *reader) head(line []byte) []byte { return bytes.Clone(line[:min(len(line), r.maxLine, 1024)]) }

// take makes the event of a line.
func (r *reader) take(whole []byte, start, end int) {
	line := whole[start:end]
	before := position{r.file, r.offset, r.line, r.events, whole[max(0, start-checkBytes):start]}
	ended := bytes.HasSuffix(line, []byte{'\n'})
	r.offset += int64(len(line))
	r.line++
	line = bytes.TrimRight(line, "\r\n")
	long := r.tooLong
	if long == nil && len(line) > r.maxLine {
		long = r.head(line)
	}
	r.tooLong = nil
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if long == nil && len(bytes.TrimLeft(line, " \t")) == 0 {
		return
	}
	var ev decode.Event
	var err error
	if long != nil {
		err = fmt.Errorf("the line is longer than %d bytes", r.maxLine)
		ev.Raw = long
	} else {
		ev, err = r.decoder.Decode(nil, line)
		ev.Raw = line
	}
	if err != nil {
		ev.Kind, ev.Err = decode.Bad, fmt.Errorf("%s:%d: %w", r.file, r.line, err)
	}
	r.events++
	if len(r.places) == cap(r.places) {
		r.places = make([]position, 0, 512)
	}
	place := position{r.file, r.offset, r.line, r.events, whole[max(0, end-checkBytes-len("\r\n")):end]}
	if bad := (*decode.Error)(nil); !ended && errors.As(err, &bad) && bad.Reason == decode.NotJSON {
		place = before // the rest of the line may come: it is read again then
	}
	r.places = append(r.places, place)
	ev.Position = &r.places[len(r.places)-1]
	r.out = append(r.out, ev)
}
