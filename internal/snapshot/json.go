package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tarnlake/tarn/internal/manifest"
)

// ErrKind says that a snapshot was made by a kind of commit that this version does not know: whoever
// reads on could miss what it did.
var ErrKind = errors.New("unknown kind of commit")

// errIncomplete says that the file may be half written: reading it again can help.
var errIncomplete = errors.New("incomplete")

// Decode reads the content of a snapshot or changelog file of any version. Unknown versions are
// accepted, as in Java; unknown members are kept in Extra. An unknown commit kind is ErrKind.
func Decode(data []byte) (*Snapshot, error) {
	m, err := members(data)
	if err != nil {
		return nil, err
	}
	return decode(m)
}

func members(data []byte) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w JSON: %w", errIncomplete, err)
	}
	if m == nil {
		return nil, fmt.Errorf("%w JSON: no object", errIncomplete)
	}
	return m, nil
}

// scanner takes members out of an object.
type scanner struct {
	m   map[string]json.RawMessage
	err error
}

var null = []byte("null")

// get reads a member into v, unless it is absent or null.
func (s *scanner) get(name string, v any) bool {
	raw, ok := s.m[name]
	delete(s.m, name)
	if !ok || bytes.Equal(raw, null) {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil && s.err == nil {
		s.err = fmt.Errorf("member %q: %w", name, err)
	}
	return true
}

func (s *scanner) must(name string, v any) {
	if !s.get(name, v) && s.err == nil {
		s.err = fmt.Errorf("%w: no member %q", errIncomplete, name)
	}
}

func (s *scanner) long(name string) *int64 {
	var v int64
	if !s.get(name, &v) {
		return nil
	}
	return &v
}

func decode(m map[string]json.RawMessage) (*Snapshot, error) {
	s := scanner{m: m}
	out := &Snapshot{Version: 1, Written: writtenBy(m)}
	s.get("version", &out.Version)
	s.get("uuid", &out.UUID)
	s.must("id", &out.ID)
	s.must("schemaId", &out.SchemaID)
	s.must("baseManifestList", &out.BaseManifestList)
	out.BaseManifestListSize = s.long("baseManifestListSize")
	s.must("deltaManifestList", &out.DeltaManifestList)
	out.DeltaManifestListSize = s.long("deltaManifestListSize")
	s.get("changelogManifestList", &out.ChangelogManifestList)
	out.ChangelogManifestListSize = s.long("changelogManifestListSize")
	s.get("indexManifest", &out.IndexManifest)
	s.must("commitUser", &out.CommitUser)
	s.must("commitIdentifier", &out.CommitIdentifier)
	s.must("commitKind", &out.CommitKind)
	s.must("timeMillis", &out.TimeMillis)
	s.get("logOffsets", &out.LogOffsets)
	out.TotalRecordCount = s.long("totalRecordCount")
	out.DeltaRecordCount = s.long("deltaRecordCount")
	out.ChangelogRecordCount = s.long("changelogRecordCount")
	out.Watermark = s.long("watermark")
	s.get("statistics", &out.Statistics)
	s.get("properties", &out.Properties)
	out.NextRowID = s.long("nextRowId")
	if s.err != nil {
		return nil, s.err
	}
	switch out.CommitKind {
	case Append, Compact, Overwrite, Analyze:
	default:
		return nil, fmt.Errorf("%w %q: written by a newer release, which has to be used to read it", ErrKind, out.CommitKind)
	}
	for _, f := range []struct {
		member, name string
		must         bool // every release writes both lists, empty ones too: without a base, rows would be missing silently
	}{
		{"baseManifestList", out.BaseManifestList, true},
		{"deltaManifestList", out.DeltaManifestList, true},
		{"changelogManifestList", out.ChangelogManifestList, false},
		{"indexManifest", out.IndexManifest, false},
		{"statistics", out.Statistics, false},
	} {
		if f.name == "" && !f.must {
			continue // there is no such file
		}
		if err := manifest.CheckName(f.name); err != nil {
			return nil, fmt.Errorf("member %q: %w: the file is damaged", f.member, err)
		}
	}
	if len(m) > 0 {
		out.Extra = make(map[string][]byte, len(m))
		for k, v := range m {
			out.Extra[k] = v
		}
	}
	return out, nil
}

// writtenBy tells from the members which release wrote the file, at least: until 0.7 the watermark was
// written as null, sizes of lists came with 1.1, and logOffsets went with 1.4.
func writtenBy(m map[string]json.RawMessage) manifest.Version {
	has := func(name string) bool { _, ok := m[name]; return ok }
	switch {
	case has("baseManifestListSize") && !has("logOffsets") || has("uuid") || has("operation"):
		return manifest.V14
	case has("nextRowId"):
		return manifest.V13
	case has("properties"):
		return manifest.V12
	case has("baseManifestListSize"):
		return manifest.V11
	case !has("watermark"):
		return manifest.V08
	case has("statistics"):
		return manifest.V07
	}
	return manifest.V04
}

// Encode writes a snapshot file as Java does at that version (zero: the newest), with members that this
// version does not know at the end.
func Encode(s *Snapshot, v manifest.Version) []byte {
	e := encode(s, v)
	return e.end()
}

func encode(s *Snapshot, v manifest.Version) *encoder {
	if v == 0 {
		v = manifest.Latest
	}
	e := &encoder{b: make([]byte, 0, 900)}
	e.b = append(e.b, '{')
	e.long("version", int64(s.Version))
	if s.UUID != "" {
		e.text("uuid", s.UUID)
	}
	e.long("id", s.ID)
	e.long("schemaId", s.SchemaID)
	e.text("baseManifestList", s.BaseManifestList)
	e.size("baseManifestListSize", s.BaseManifestListSize, v)
	e.text("deltaManifestList", s.DeltaManifestList)
	e.size("deltaManifestListSize", s.DeltaManifestListSize, v)
	switch {
	case s.ChangelogManifestList != "":
		e.text("changelogManifestList", s.ChangelogManifestList)
		e.size("changelogManifestListSize", s.ChangelogManifestListSize, v)
	case v < manifest.V14:
		e.raw("changelogManifestList", null)
	}
	if s.IndexManifest != "" {
		e.text("indexManifest", s.IndexManifest)
	}
	e.text("commitUser", s.CommitUser)
	e.long("commitIdentifier", s.CommitIdentifier)
	e.text("commitKind", string(s.CommitKind))
	e.long("timeMillis", s.TimeMillis)
	if s.LogOffsets != nil && (v < manifest.V14 || len(s.LogOffsets) > 0) {
		object(e, "logOffsets", s.LogOffsets, func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })
	}
	e.count("totalRecordCount", s.TotalRecordCount, true)
	e.count("deltaRecordCount", s.DeltaRecordCount, true)
	e.count("changelogRecordCount", s.ChangelogRecordCount, v < manifest.V08)
	e.count("watermark", s.Watermark, v < manifest.V08)
	if s.Statistics != "" {
		e.text("statistics", s.Statistics)
	}
	if s.Properties != nil && v >= manifest.V12 {
		object(e, "properties", s.Properties, appendQuoted)
	}
	if v >= manifest.V13 {
		e.count("nextRowId", s.NextRowID, false)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Extra)) {
		e.raw(k, s.Extra[k])
	}
	return e
}

// encoder writes JSON in the layout of Jackson's pretty printer.
type encoder struct{ b []byte }

func (e *encoder) name(name string) {
	if len(e.b) > 1 {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, "\n  "...)
	e.b = appendQuoted(e.b, name)
	e.b = append(e.b, " : "...)
}

func (e *encoder) raw(name string, v []byte) {
	e.name(name)
	e.b = append(e.b, v...)
}

func (e *encoder) text(name, v string) {
	e.name(name)
	e.b = appendQuoted(e.b, v)
}

func (e *encoder) long(name string, v int64) {
	e.name(name)
	e.b = strconv.AppendInt(e.b, v, 10)
}

func (e *encoder) size(name string, v *int64, version manifest.Version) {
	if v != nil && version >= manifest.V11 {
		e.long(name, *v)
	}
}

func (e *encoder) count(name string, v *int64, orNull bool) {
	switch {
	case v != nil:
		e.long(name, *v)
	case orNull:
		e.raw(name, null)
	}
}

func (e *encoder) end() []byte { return append(e.b, "\n}"...) }

func object[T any](e *encoder, name string, m map[string]T, value func([]byte, T) []byte) {
	e.name(name)
	if len(m) == 0 {
		e.b = append(e.b, "{ }"...)
		return
	}
	e.b = append(e.b, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, "\n    "...)
		e.b = appendQuoted(e.b, k)
		e.b = append(e.b, " : "...)
		e.b = value(e.b, m[k])
	}
	e.b = append(e.b, "\n  }"...)
}

// appendQuoted writes a string as Jackson does: only quotes, backslashes and control characters are
// escaped.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // bytes that are no UTF-8 become U+FFFD
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
