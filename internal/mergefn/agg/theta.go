package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/datasketches-go/theta"
)

// thetaSketch unites theta sketches of Apache DataSketches, compact ones of all versions and those that are still written
// to. What comes out is compact and in order, has 4096 numbers at most, and is byte for byte what the reference makes of them.
type thetaSketch struct{ all *theta.Union }

// Bytes of a theta sketch.
const (
	thetaHead    = 0 // lower six bits: longs before the numbers
	thetaVersion = 1
	thetaFamily  = 2 // 1, 2: still written to; 3: compact
	thetaBits    = 3 // of each number in version 4
	thetaLgArray = 4 // log2 of the places for numbers in sketches that are written to
	thetaFlags   = 5
	thetaSeed    = 6  // hash of the seed
	thetaCount   = 8  // numbers
	thetaChance  = 12 // of a value to be looked at
	thetaTheta   = 16 // all numbers are below
	thetaNumbers = 24

	thetaEmpty     = 4  // a flag
	thetaSingle    = 32 // a flag: there is one number
	thetaMaxLgSize = 26
)

func (s *thetaSketch) add(v []byte, _ bool) error {
	v, err := compactTheta(v)
	if err != nil {
		return err
	}
	// The library trusts what is behind the lengths.
	return guarded(func() error {
		one, err := theta.Decode(v, theta.DefaultSeed)
		if err != nil {
			return err
		}
		if s.all == nil {
			if s.all, err = theta.NewUnion(); err != nil {
				return err
			}
		}
		return s.all.Update(one)
	})
}

// guarded makes errors of the panics with which the library meets damaged sketches.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	return f()
}

func (s *thetaSketch) bytes() ([]byte, error) {
	result, err := s.all.OrderedResult()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := theta.NewEncoder(&b, false)
	if err := e.Encode(result); err != nil {
		return nil, err
	}
	out := b.Bytes()
	switch { // what the reference's library writes and this one does not
	case out[thetaHead] > 1:
		binary.LittleEndian.PutUint32(out[thetaChance:], math.Float32bits(1))
	case out[thetaFlags]&thetaEmpty != 0:
		out[thetaSeed], out[thetaSeed+1] = 0, 0
	default:
		out[thetaFlags] |= thetaSingle
	}
	return out, nil
}

// compactTheta makes sketches that are still written to compact, which is all that the library reads, and gives others as
// they are if they can be read.
func compactTheta(v []byte) ([]byte, error) {
	if len(v) < 8 {
		return nil, errCut
	}
	switch family := v[thetaFamily]; {
	case family == 3:
		if v[thetaVersion] == 4 && (v[thetaBits] == 0 || v[thetaBits] > 63) {
			return nil, fmt.Errorf("numbers of %d bits", v[thetaBits])
		}
		return v, nil
	case family != 1 && family != 2:
		return nil, fmt.Errorf("a sketch of family %d", family)
	case v[thetaVersion] != 3 || v[thetaHead]&63 != 3 || v[thetaLgArray] > thetaMaxLgSize+1:
		return nil, fmt.Errorf("version %d, %d longs before 2^%d numbers", v[thetaVersion], v[thetaHead]&63, v[thetaLgArray])
	case int64(len(v)) < thetaNumbers+8<<v[thetaLgArray]:
		return nil, errCut
	}
	limit := binary.LittleEndian.Uint64(v[thetaTheta:])
	out := append([]byte(nil), v[:thetaNumbers]...)
	out[thetaHead], out[thetaFamily] = 3, 3
	out[thetaFlags] &= thetaEmpty
	for i := thetaNumbers; i < thetaNumbers+8<<v[thetaLgArray]; i += 8 {
		if n := binary.LittleEndian.Uint64(v[i:]); n != 0 && n < limit {
			out = append(out, v[i:i+8]...)
		}
	}
	binary.LittleEndian.PutUint32(out[thetaCount:], uint32((len(out)-thetaNumbers)/8))
	return out, nil
}
