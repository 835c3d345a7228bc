package bucket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Move says what becomes of a row whose key is in another partition than the row.
type Move int

const (
	// MoveRow deletes the key there, and the row goes to its own partition.
	MoveRow Move = iota
	// KeepPlace brings the row to the partition where its key is.
	KeepPlace
	// DropRow leaves the row out, in its own partition, too: the first row of a key is the one that counts.
	DropRow
)

// CrossingConfig describes a table whose keys may move between partitions.
type CrossingConfig struct {
	Table      string // for messages
	Fields     []types.Field
	Keys       []string // the whole primary key
	Partitions []string // partition columns
	Limits     Limits
	Move       Move
	// Memory bounds the bytes of the index of keys that are held; the rest is in a temporary file in Folder, "" for the system's.
	Memory int64
	Folder string
	// TTL is how long a key is kept that does not come; 0: for ever. Clock tells the time.
	TTL   time.Duration
	Clock func() time.Time
	// Replace is set if the rows replace what partitions have.
	Replace Replace
	// Load gives the keys that the table has: batches of the columns of Keys, all rows of one bucket. It returns the snapshot
	// that it has looked at. Nil: no key can be in a partition that is not replaced.
	Load func(ctx context.Context, have func(keys arrow.RecordBatch, partition []byte, bucket int) error) (snapshot int64, err error)
	// Writer is a name of the writer that no other one has, and After are those that it goes on from.
	Writer string
	After  []string
}

// Crossing gives rows their buckets where a key is in one partition at a time, by an index of all keys: the rows of a key that comes
// to another partition are dealt with as Move says. It is used by one goroutine.
type Crossing struct {
	c      CrossingConfig
	rows   *binrow.Hasher // of rows
	keys   *binrow.Hasher // of batches of keys alone
	parts  []int          // partition columns
	seed   uint64
	start  time.Time
	index  *keyTable // nil until the first row
	ids    map[string]int32
	locs   [][]byte
	fill   []*fill
	consts [][]arrow.Array // values of the partition columns, nil until they are needed

	stay stay

	hashes   [][2]uint64
	snapshot int64 // that the index rests on
	used     bool  // since the last Prepare
}

// fill is how many keys the buckets of a partition have.
type fill struct {
	rows []int64
	next []int // the lowest that may have room, of the buckets of each class
}

// NewCrossing makes a Crossing. It has to be closed.
func NewCrossing(c CrossingConfig) (*Crossing, error) {
	x := &Crossing{c: c, seed: rand.Uint64(), start: c.Clock(), ids: map[string]int32{}}
	x.c.Limits.Initial = max(1, c.Limits.Initial)
	if c.Limits.Max > 0 {
		x.c.Limits.Initial = min(x.c.Limits.Initial, c.Limits.Max)
	}
	at := func(names []string) (cols, own []int, ts []types.Type) {
		for i, name := range names {
			k := slices.IndexFunc(c.Fields, func(f types.Field) bool { return f.Name == name })
			cols, own, ts = append(cols, k), append(own, i), append(ts, c.Fields[k].Type)
		}
		return cols, own, ts
	}
	cols, own, ts := at(c.Keys)
	var err error
	if x.rows, err = binrow.NewHasher(cols, ts); err == nil {
		x.keys, err = binrow.NewHasher(own, ts)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", c.Table, err)
	}
	x.parts, _, _ = at(c.Partitions)
	return x, nil
}

// Placed is rows with their places.
type Placed struct {
	batch.Batch
	Part, Bucket []int32  // of each row; Part is an index into Partitions
	Partitions   [][]byte // BinaryRows with arity
}

// Place finds the places of rows. part is the partition of each row, an index into locs. The result has rows in the order of b, with
// deletes before rows that move.
func (x *Crossing) Place(ctx context.Context, b batch.Batch, part []int, locs [][]byte) (*Placed, error) {
	if err := x.load(ctx); err != nil {
		return nil, err
	}
	x.used = true
	n := int(b.NumRows())
	x.hashes = x.rows.Wide(b.RecordBatch, x.seed, x.hashes[:0])
	ids := make([]int32, len(locs))
	for i := range ids {
		ids[i] = -1
	}
	o := placing{rows: make([]int32, 0, n), part: make([]int32, 0, n), bucket: make([]int32, 0, n), n: n, kinds: b.Kinds}
	for i := range n {
		p := ids[part[i]]
		if p < 0 {
			p = x.partition(locs[part[i]])
			ids[part[i]] = p
		}
		h := keyHash{x.hashes[i][0], x.hashes[i][1]}
		have, ok, err := x.index.get(h)
		switch {
		case err != nil:
			return nil, fmt.Errorf("table %s: %w", x.c.Table, err)
		case ok && have.tick == ofTable && x.c.Replace != ReplaceNothing:
			if ok, err := x.replace(b, i, p, have); err != nil {
				return nil, err
			} else if !ok {
				o.changed = true
				continue
			}
		case ok && x.c.Move == DropRow:
			o.changed = true
			continue
		case ok && have.part == p:
			o.add(i, p, int32(have.bucket))
			if err := x.refresh(h, have); err != nil {
				return nil, err
			}
			continue
		case ok && x.c.Move == KeepPlace:
			o.add(i, have.part, int32(have.bucket))
			o.foreign()
			if err := x.refresh(h, have); err != nil {
				return nil, err
			}
			continue
		case ok:
			o.add(i, have.part, int32(have.bucket))
			o.foreign()
			o.delete()
			x.fill[have.part].leave(int(have.bucket), x.c.Limits.Initial)
		}
		bucket, err := x.fill[p].pick(h, &x.c.Limits)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", x.c.Table, err)
		}
		if err := x.put(h, place{part: p, bucket: int16(bucket)}); err != nil {
			return nil, err
		}
		o.add(i, p, int32(bucket))
	}
	if x.c.Replace == ReplaceWritten {
		x.stay.write(o.part)
	}
	return x.gather(b, &o)
}

// partition gives the number of a partition.
func (x *Crossing) partition(loc []byte) int32 {
	if p, ok := x.ids[string(loc)]; ok {
		return p
	}
	p := int32(len(x.locs))
	x.ids[string(loc)] = p
	x.locs, x.consts = append(x.locs, loc), append(x.consts, nil)
	x.fill = append(x.fill, &fill{next: begin(x.c.Limits.Initial)})
	return p
}

func begin(classes int) []int {
	out := make([]int, classes)
	for i := range out {
		out[i] = i
	}
	return out
}

// pick gives a key that comes to the partition a bucket: the lowest one with room.
func (f *fill) pick(h keyHash, l *Limits) (int, error) {
	class := int(h.lo>>32) % l.Initial
	most := mostBuckets
	if l.Max > 0 {
		most = l.Max
	}
	for b := f.next[class]; b < most; b += l.Initial {
		for len(f.rows) <= b {
			f.rows = append(f.rows, 0)
		}
		if f.rows[b] < l.Rows {
			f.rows[b]++
			f.next[class] = b
			return b, nil
		}
	}
	if l.Max <= 0 {
		return 0, fmt.Errorf("%w: %d with dynamic-bucket.target-row-num = %d keys each; raise this option, or give the table more partitions", ErrFull, mostBuckets, l.Rows)
	}
	// Keys beyond are spread.
	f.next[class] = most
	b := class + l.Initial*(int(h.lo>>1)%((most-class+l.Initial-1)/l.Initial))
	f.rows[b]++
	return b, nil
}

// have counts a key that is in a bucket.
func (f *fill) have(b int) {
	for len(f.rows) <= b {
		f.rows = append(f.rows, 0)
	}
	f.rows[b]++
}

// leave says that a key has left a bucket.
func (f *fill) leave(b, classes int) {
	f.rows[b]--
	f.next[b%classes] = min(f.next[b%classes], b)
}

// tick is the time in steps of the TTL.
func (x *Crossing) tick() uint16 {
	if x.c.TTL <= 0 {
		return 0
	}
	return uint16(x.c.Clock().Sub(x.start) / max(x.c.TTL/ticks, 1))
}

// ticks are the steps of a TTL. Keys are looked at much more often than the numbers of steps begin anew.
const ticks = 256

func (x *Crossing) put(h keyHash, p place) error {
	p.tick = x.tick()
	if err := x.index.put(h, p); err != nil {
		return fmt.Errorf("table %s: %w", x.c.Table, err)
	}
	return nil
}

// refresh keeps a key that has come again.
func (x *Crossing) refresh(h keyHash, p place) error {
	if x.c.TTL <= 0 || x.tick()-p.tick < ticks/8 {
		return nil
	}
	return x.put(h, p)
}

// load fills the index.
func (x *Crossing) load(ctx context.Context) (err error) {
	if x.index != nil {
		return nil
	}
	var expired func(place) bool
	if x.c.TTL > 0 {
		expired = func(p place) bool { return x.tick()-p.tick > ticks }
	}
	for range 10 {
		x.index = newKeyTable(x.c.Memory, x.c.Folder, expired)
		if x.c.Load == nil {
			return nil
		}
		if x.snapshot, err = x.loadAll(ctx); err == nil {
			return nil
		}
		err = errors.Join(fmt.Errorf("index of all keys: %w", err), x.Forget())
		if !errors.Is(err, ErrAgain) {
			return err
		}
	}
	return err
}

func (x *Crossing) loadAll(ctx context.Context) (snapshot int64, err error) {
	aside := &keyLoad{folder: x.c.Folder}
	defer func() { err = errors.Join(err, aside.close()) }()
	snapshot, err = x.c.Load(ctx, func(keys arrow.RecordBatch, partition []byte, bucket int) error {
		return x.have(aside, keys, partition, bucket)
	})
	if err != nil {
		return 0, err
	}
	return snapshot, aside.each(func(h keyHash, p place) error { return x.known(h, p, "a key") })
}

// ErrAgain is the error of a Load whose snapshot has expired meanwhile.
var ErrAgain = errors.New("the snapshot that was read has expired")

// have takes keys that the table has. Those for which there is no memory are put aside.
func (x *Crossing) have(aside *keyLoad, keys arrow.RecordBatch, partition []byte, bucket int) error {
	if bucket < 0 || bucket >= mostBuckets {
		return fmt.Errorf("table %s: there are files in bucket %d, which there cannot be", x.c.Table, bucket)
	}
	p := place{part: x.partition(slices.Clone(partition)), bucket: int16(bucket), tick: x.tick()}
	if x.c.Replace != ReplaceNothing {
		p.tick = ofTable
	}
	x.hashes = x.keys.Wide(keys, x.seed, x.hashes[:0])
	for i := range x.hashes {
		h := keyHash{x.hashes[i][0], x.hashes[i][1]}
		if x.c.Replace == ReplaceNothing { // else its buckets begin empty, or nothing comes to them
			x.fill[p.part].have(bucket)
		}
		if x.index.full() {
			if err := aside.add(h, p); err != nil {
				return err
			}
			continue
		}
		if err := x.known(h, p, ""); err == errTwice {
			return x.known(h, p, "the "+x.nameOf(keys, i))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// errTwice says that a key is in two places.
var errTwice = errors.New("a key is in two places")

// known takes a key that the table has. An error names it, if there is a name.
func (x *Crossing) known(h keyHash, p place, name string) error {
	was, ok, err := x.index.get(h)
	switch {
	case err != nil:
		return err
	case ok && (was.part != p.part || was.bucket != p.bucket) && x.c.TTL > 0:
		x.fill[was.part].leave(int(was.bucket), x.c.Limits.Initial) // what a TTL brings about
	case ok && (was.part != p.part || was.bucket != p.bucket):
		if name == "" {
			return errTwice
		}
		return x.twice(name, was, p)
	}
	return x.index.put(h, p)
}

// twice is the error of a key that is in two places.
func (x *Crossing) twice(name string, places ...place) error {
	where := ""
	for _, l := range places {
		where += fmt.Sprintf(" %s/bucket-%d", x.textOf(l.part), l.bucket)
	}
	return fmt.Errorf("table %s: %s is in two places:%s: writers that did not know of each other have written it; write the table anew with one of the rows (overwrite it, Static)", x.c.Table, name, where)
}

// nameOf is the text of a key.
func (x *Crossing) nameOf(rec arrow.RecordBatch, row int) string {
	text := "key"
	for _, k := range x.c.Keys {
		for _, c := range rec.Schema().FieldIndices(k) {
			text += fmt.Sprintf(" %s=%s", k, rec.Column(c).ValueStr(row))
		}
	}
	return text
}

// textOf is a partition as text.
func (x *Crossing) textOf(p int32) string {
	v, err := x.values(p)
	if err != nil {
		return fmt.Sprintf("%x", x.locs[p])
	}
	text := make([]string, len(v))
	for i, a := range v {
		text[i] = x.c.Partitions[i] + "=" + a.ValueStr(0)
	}
	return strings.Join(text, "/")
}

// Prepare tells in what the buckets have prepared what it was written upon.
func (x *Crossing) Prepare(_ context.Context, deltas []manifest.Delta) ([]manifest.Delta, error) {
	if err := x.checkStay(); err != nil {
		return deltas, err
	}
	x.used = false
	if x.c.Load == nil || x.index == nil {
		return deltas, nil
	}
	k := &manifest.KeyIndex{Snapshot: x.snapshot, Writer: x.c.Writer, After: x.c.After}
	for i := range deltas {
		if deltas[i].HasAppend() {
			deltas[i].Keys = k
		}
	}
	return deltas, nil
}

// Committed is of no interest: nothing of the index can be forgotten.
func (x *Crossing) Committed() {}

// Snapshot is what the index rests on; loaded is false if there is none yet, and used says that rows came since the last Prepare.
func (x *Crossing) Snapshot() (id int64, loaded, used bool) {
	return x.snapshot, x.index != nil, x.used
}

// Advance says that the index knows all of a newer snapshot.
func (x *Crossing) Advance(snapshot int64) { x.snapshot = max(x.snapshot, snapshot) }

// Forget drops the index: the next row has it loaded again.
func (x *Crossing) Forget() error {
	if x.index == nil {
		return nil
	}
	err := x.index.close()
	x.index, x.snapshot = nil, 0
	clear(x.ids)
	x.locs, x.consts, x.fill = nil, nil, nil
	return err
}

// Memory is the bytes that the index holds.
func (x *Crossing) Memory() int64 {
	if x.index == nil {
		return 0
	}
	return x.index.memory()
}
