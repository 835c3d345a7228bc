package decode

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// maxGeometries bounds how deep collections of geometries may lie in each other.
const maxGeometries = 16

// geometryNames are the kinds of the well-known binary form (OGC 06-103r4), by their number.
var geometryNames = [...]string{1: "Point", 2: "LineString", 3: "Polygon", 4: "MultiPoint", 5: "MultiLineString", 6: "MultiPolygon", 7: "GeometryCollection"}

// geoJSON gives the text of a geometry as the format's own tools write it:
// {"coordinates":[1,1],"type":"Point","srid":0}.
func geoJSON(wkb []byte, srid int64) ([]byte, bool) {
	r := wkbReader{data: wkb}
	out, err := r.geometry(nil, &srid, maxGeometries)
	if err != nil || len(r.data) > 0 {
		return nil, false
	}
	return out, true
}

var errGeometry = errors.New("it is no geometry")

// wkbReader reads the well-known binary form. Sizes are checked against what is left, so memory follows
// the input.
type wkbReader struct {
	data  []byte
	order binary.ByteOrder
}

func (r *wkbReader) uint32() (uint32, error) {
	if len(r.data) < 4 {
		return 0, errGeometry
	}
	v := r.order.Uint32(r.data)
	r.data = r.data[4:]
	return v, nil
}

// header reads byte order and kind; srid is set if the geometry has its own.
func (r *wkbReader) header(srid *int64) (kind uint32, dims int, err error) {
	if len(r.data) < 1 || r.data[0] > 1 {
		return 0, 0, errGeometry
	}
	r.order = binary.BigEndian
	if r.data[0] == 1 {
		r.order = binary.LittleEndian
	}
	r.data = r.data[1:]
	if kind, err = r.uint32(); err != nil {
		return 0, 0, err
	}
	dims = 2
	for _, flag := range []uint32{0x80000000, 0x40000000} { // Z and M
		if kind&flag != 0 {
			dims++
		}
	}
	if kind&0x20000000 != 0 {
		v, err := r.uint32()
		if err != nil {
			return 0, 0, err
		}
		if srid != nil {
			*srid = int64(v)
		}
	}
	kind &= 0x1fffffff
	if kind >= 1000 { // Z, M and both as ISO has them
		dims = 3 + int(kind/3000)
		kind %= 1000
	}
	if kind == 0 || kind >= uint32(len(geometryNames)) || dims > 4 {
		return 0, 0, errGeometry
	}
	return kind, dims, nil
}

// geometry appends a geometry; srid is nil inside of another one.
func (r *wkbReader) geometry(out []byte, srid *int64, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, errGeometry
	}
	kind, dims, err := r.header(srid)
	if err != nil {
		return nil, err
	}
	name := `"type":"` + geometryNames[kind] + `"`
	out = append(out, '{')
	if srid == nil { // the order of the format's own tools
		out = append(append(out, name...), ',')
	}
	if kind == 7 {
		out = append(out, `"geometries":`...)
		out, err = r.list(out, 5, func(out []byte) ([]byte, error) { return r.geometry(out, nil, depth-1) })
	} else {
		out = append(out, `"coordinates":`...)
		out, err = r.coordinates(out, kind, dims)
	}
	if err != nil {
		return nil, err
	}
	if srid != nil {
		out = append(append(append(out, ','), name...), `,"srid":`...)
		out = strconv.AppendInt(out, *srid, 10)
	}
	return append(out, '}'), nil
}

// coordinates appends those of a geometry that is no collection.
func (r *wkbReader) coordinates(out []byte, kind uint32, dims int) ([]byte, error) {
	point := func(out []byte) ([]byte, error) { return r.point(out, dims) }
	line := func(out []byte) ([]byte, error) { return r.list(out, 8*dims, point) }
	switch kind {
	case 1:
		return r.point(out, dims)
	case 2:
		return line(out)
	case 3:
		return r.list(out, 4, line)
	}
	return r.list(out, 5, func(out []byte) ([]byte, error) { // the parts of multi-geometries have headers of their own
		part, dims, err := r.header(nil)
		if err != nil || part != kind-3 {
			return nil, errGeometry
		}
		return r.coordinates(out, part, dims)
	})
}

// list appends as many parts as a number says, each of which takes at least size bytes.
func (r *wkbReader) list(out []byte, size int, part func([]byte) ([]byte, error)) ([]byte, error) {
	n, err := r.uint32()
	if err != nil || int64(n)*int64(size) > int64(len(r.data)) {
		return nil, errGeometry
	}
	out = append(out, '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = part(out); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// point appends the coordinates of a point.
func (r *wkbReader) point(out []byte, dims int) ([]byte, error) {
	if len(r.data) < 8*dims {
		return nil, errGeometry
	}
	out = append(out, '[')
	for i := range dims {
		if i > 0 {
			out = append(out, ',')
		}
		v := math.Float64frombits(r.order.Uint64(r.data))
		r.data = r.data[8:]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errGeometry
		}
		out = strconv.AppendFloat(out, v, 'f', -1, 64)
	}
	return append(out, ']'), nil
}

// geometryText gives the GeoJSON of a value, which is Debezium's object of wkb and srid, or Canal's text
// of bytes: the SRID in 4 bytes, then the well-known binary form.
func geometryText(raw []byte, from *Column) ([]byte, bool) {
	if raw[0] != '{' {
		data := latin1(plainText(raw, from))
		if len(data) < 5 {
			return nil, false
		}
		return geoJSON(data[4:], int64(binary.LittleEndian.Uint32(data)))
	}
	s := scanner{data: raw, pos: 1}
	var wkb []byte
	var srid int64
	for first := true; ; first = false {
		name, more := s.member(first)
		if !more {
			break
		}
		v, ok := s.value()
		if !ok {
			return nil, false
		}
		switch {
		case is(name, "wkb") && v[0] == '"':
			var err error
			if wkb, err = base64.StdEncoding.AppendDecode(nil, unquote(v)); err != nil {
				return nil, false
			}
		case is(name, "srid"):
			srid, _ = parseInt(v)
		}
	}
	if s.err != nil || wkb == nil {
		return nil, false
	}
	return geoJSON(wkb, srid)
}
