package files

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/tarnlake/tarn/cdc/decode"
)

// seen is which files were begun, so that one that comes too late is told: its name stands before that of another one
// which was read already, and whoever reads it now takes old changes for new ones.
type seen struct {
	last    string          // the file furthest behind that was begun
	known   map[uint32]bool // by their names: files up to it that were there in time
	told    []uint32        // files that came too late, of which it was told
	telling []uint32        // of which it was told with the newest events
	late    []entry         // of which it has to be told
}

func nameSum(path string) uint32 { return crc32.ChecksumIEEE([]byte(path)) }

// inTime gives the files that may be read, and notes the others.
func (s *seen) inTime(list []entry) []entry {
	lastAt := slices.IndexFunc(list, func(e entry) bool { return e.path == s.last })
	var out []entry
	s.late = nil
	for i, e := range list {
		before, sum := i < lastAt || lastAt < 0 && e.path < s.last, nameSum(e.path)
		switch {
		case !before || s.known[sum]:
			out = append(out, e)
		case !slices.Contains(s.told, sum) && !slices.Contains(s.telling, sum):
			s.late = append(s.late, e)
		}
	}
	return out
}

// upTo notes that file at is begun: it and those before it were there in time.
func (s *seen) upTo(list []entry, at int) {
	if s.known == nil {
		s.known = map[uint32]bool{}
	}
	for _, e := range list[:at+1] {
		s.known[nameSum(e.path)] = true
	}
	if !slices.ContainsFunc(list[at:], func(e entry) bool { return e.path == s.last }) { // else it is read again
		s.last = list[at].path
	}
}

// tell gives an event for each file that came too late.
func (s *seen) tell() []decode.Event {
	s.told = append(s.told, s.telling...) // whoever asks for more has taken it
	s.telling = s.telling[:0]
	var out []decode.Event
	for _, e := range s.late {
		s.telling = append(s.telling, nameSum(e.path))
		out = append(out, decode.Event{
			Kind: decode.Bad, Raw: []byte(e.path),
			Err: fmt.Errorf("files: %s came after %s was begun, and stands before it: it is not read, as its changes are older than those that were taken; give it a name that stands behind, or take it away", e.path, s.last),
		})
	}
	s.late = nil
	return out
}

// noted is a note as it is kept.
type noted struct {
	Last string `json:"last"`
	Read []byte `json:"read"` // the sums of the names of files that are known and still there
	Told []byte `json:"told,omitempty"`
}

func packSums(sums []uint32) (out []byte) {
	for _, sum := range sums {
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	return out
}

func unpackSums(b []byte) (out []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, binary.LittleEndian.Uint32(b))
	}
	return out
}

func (s *seen) note(list []entry) ([]byte, error) {
	var read []uint32
	for _, e := range list {
		if sum := nameSum(e.path); s.known[sum] {
			read = append(read, sum)
		}
	}
	return json.Marshal(noted{s.last, packSums(read), packSums(s.told)})
}

func (s *seen) recall(note []byte) error {
	var n noted
	if err := json.Unmarshal(note, &n); err != nil {
		return fmt.Errorf("files: the note %q is not one of this source: %w", note, err)
	}
	s.last, s.known, s.told = n.Last, map[uint32]bool{}, unpackSums(n.Told)
	for _, sum := range unpackSums(n.Read) {
		s.known[sum] = true
	}
	return nil
}
