package chunk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"tachograph/sample/metric"
)

// Version is the format of the chunks this package writes.
const Version = 2

// Limits of a chunk, which a reader enforces so that no damaged directory
// makes it allocate or compute without end.
const (
	MaxTicks     = 1 << 17
	maxColumns   = 1 << 16
	maxGroups    = 1 << 12
	maxInstances = 1 << 20
	maxTexts     = 1 << 20 // strings of a chunk, or frames of its names, or strings of a batch of events
	maxRuns      = 1 << 22 // over all instances of a group
	// All groups of a chunk together have at most this many instances, plus this many for each
	// byte.
	instancesFree    = 1 << 12
	instancesPerByte = 16
	maxLifetimes     = 1 << 27 // over all instances of a group, in blocks
)

// Checksum is the crc32c used everywhere in an archive.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sealed is an encoded chunk: its entry in the index and its bytes.
type Sealed struct {
	Info Info
	Data []byte
}

// Seal encodes what b holds. It does not change b: call Reset once the chunk is safe. number
// gives the catalogue's number of a metric.
func (b *Builder) Seal(number func(*metric.Desc) uint32) (*Sealed, error) {
	return b.table(number, false).seal()
}

// SealBare is Seal for chunks that will be merged: without sketches.
func (b *Builder) SealBare(number func(*metric.Desc) uint32) (*Sealed, error) {
	t := b.table(number, false)
	t.bare = true
	return t.seal()
}

// A writer assembles a chunk: the parts one after another, and the directory that describes
// them.
type writer struct {
	dir   []byte
	parts []byte
	sum   int // start in parts of the part being written
}

func (w *writer) uvarint(v uint64) { w.dir = binary.AppendUvarint(w.dir, v) }

func (w *writer) string(s string) {
	w.uvarint(uint64(len(s)))
	w.dir = append(w.dir, s...)
}

// close ends a part: its length and checksum go into the directory.
func (w *writer) close() {
	w.uvarint(uint64(len(w.parts) - w.sum))
	w.checksum()
}

func (w *writer) checksum() {
	w.dir = binary.LittleEndian.AppendUint32(w.dir, crc32.Checksum(w.parts[w.sum:], castagnoli))
	w.sum = len(w.parts)
}

func (t *table) seal() (*Sealed, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	w := &writer{}
	w.dir = append(w.dir, byte(t.class))
	w.uvarint(uint64(len(t.ticks)))
	w.parts = encodeTicks(w.parts, t.ticks)
	w.close()
	codes := newReasonCodes()
	seen := make([]survey, len(t.groups))
	for i, g := range t.groups {
		var err error
		if seen[i], err = g.survey(codes); err != nil {
			return nil, err
		}
	}
	codes.encode(w)
	w.uvarint(uint64(len(t.words)))
	var err error
	if w.parts, err = encodeStrings(w.parts, t.words); err != nil {
		return nil, err
	}
	w.close()
	w.uvarint(uint64(len(t.groups)))
	t.measure()
	refs := t.references()
	for i, g := range t.groups {
		if err := g.encode(w, t, codes.of, i, refs, &seen[i]); err != nil {
			return nil, err
		}
	}
	t.restore()
	if !t.bare {
		w.parts = t.sketches(w.parts)
	}
	w.close()
	data := []byte{Version}
	data = binary.AppendUvarint(data, uint64(len(w.dir)))
	data = append(data, w.dir...)
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	data = append(data, w.parts...)
	s := &Sealed{Info: t.info(), Data: data}
	s.Info.Size = int64(len(data))
	s.Info.Sum = Checksum(data)
	return s, nil
}

// A survey holds what must be known about all columns of a group before any is encoded.
type survey struct {
	lives []uint32
	marks *changeMarks
	sums  []byte
}

func (g *groupTable) survey(codes *reasonCodes) (survey, error) {
	lives := make([]uint32, len(g.insts))
	for i := range lives {
		lives[i] = g.insts[i].lifetime()
	}
	s := survey{lives: lives, marks: newMarks(lives)}
	var sums summaries
	for c := range g.metrics {
		col, err := g.column(c)
		if err != nil {
			return s, err
		}
		codes.see(col)
		s.marks.see(col)
		sums.add(g, c, col)
	}
	s.sums = sums.packed()
	return s, nil
}

// encode writes one group.
func (g *groupTable) encode(w *writer, t *table, codes map[metric.Reason]uint64, number int, refs *references, seen *survey) error {
	w.string(g.name)
	w.string(g.indom)
	w.uvarint(uint64(len(g.metrics)))
	prev := uint32(0)
	for _, m := range g.metrics {
		w.uvarint(zigzag(int64(m.number)-int64(prev))<<4 | uint64(m.typ))
		prev = m.number
	}
	w.uvarint(uint64(len(g.at)))
	w.uvarint(uint64(len(g.insts)))
	w.parts = encodeBlocks(w.parts, t.ticks, g.at)
	w.close()
	index, names, early, err := encodeInstances(nil, nil, g.insts)
	if err != nil {
		return fmt.Errorf("group %s: %w", g.name, err)
	}
	w.parts = encodeLives(w.parts, g.insts, early, len(g.at))
	w.close()
	w.parts = append(w.parts, index...)
	w.close()
	w.parts = append(w.parts, names...)
	w.close()
	lives := seen.lives
	act := seen.marks.activity(lives)
	w.parts = act.encode(w.parts, lives, early)
	w.close()
	w.parts = append(w.parts, seen.sums...)
	w.close()
	pack := 0
	for c, m := range g.metrics {
		col, err := g.column(c)
		if err != nil {
			return err
		}
		if g.later != nil && m.typ != metric.String {
			col.measure()
		}
		n := len(w.parts)
		w.parts = col.encode(w.parts, lives, act, codes,
			func(i int) *guide { return refs.guide(t, seriesAt{number, c, i}) },
			func(i int) bool { return refs.roots[seriesAt{number, c, i}] || g.calmsDown(col, i) })
		w.uvarint(uint64(len(w.parts) - n))
		if pack += len(w.parts) - n; pack >= packSize {
			w.checksum()
			pack = 0
		}
	}
	if pack > 0 {
		w.checksum()
	}
	return nil
}

// packSize is the size at which a pack is full. A pack is a number of columns with a common
// checksum.
const packSize = 512

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
