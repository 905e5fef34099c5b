package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A Chunk is an encoded chunk that is being read. Opening it reads its directory; parts are
// read, checked and decoded when needed. A Chunk is used by one goroutine at a time.
type Chunk struct {
	Class  metric.Class
	Groups []*Group

	codec   *codec
	in      io.ReaderAt
	size    int64
	ticks   int
	stamps  []metric.Stamp
	wall    []int64 // of the ticks
	cont    []int64
	reasons []metric.Reason
	words   []string
	nwords  int
	found   map[seriesAt]*foundSeries // the targets of references
	timesAt section
	wordsAt section

	sketchesAt    section
	sketches      sketches
	wrongSketches error

	mended []string // parts in which Mend has flipped a bit
}

// section says where a section of a chunk is, and its checksum.
type section struct {
	at  int64
	len int
	sum uint32
}

// guess is how much is read at first, in the hope that it holds the
// directory.
const guess = 4 << 10

// Open reads the directory of the chunk of size bytes at the start of in.
func Open(in io.ReaderAt, size int64) (*Chunk, error) {
	head := make([]byte, min(size, guess))
	if _, err := in.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if len(head) < 2 {
		return nil, fmt.Errorf("%d bytes are no chunk", size)
	}
	codec, err := codecOf(head[0])
	if err != nil {
		return nil, err
	}
	dirLen, n := binary.Uvarint(head[1:])
	from := 1 + n
	if n <= 0 || dirLen > uint64(size) || int64(from)+int64(dirLen)+4 > size {
		return nil, fmt.Errorf("a directory of %d bytes does not fit into %d", dirLen, size)
	}
	all := from + int(dirLen) + 4
	if all > len(head) {
		head = make([]byte, all)
		if _, err := in.ReadAt(head, 0); err != nil && err != io.EOF {
			return nil, fmt.Errorf("directory: %w", err)
		}
	}
	c := &Chunk{codec: codec, in: in, size: size}
	if err := c.check(head[:all-4], binary.LittleEndian.Uint32(head[all-4:]), "directory"); err != nil {
		return nil, err
	}
	if err := codec.directory(c, head[from:all-4], int64(all)); err != nil {
		return nil, err
	}
	return c, nil
}

// directory parses a directory; at is where the next part begins.
type directory struct {
	varint.Reader
	at   int64
	size int64
	// instances is how many the groups so far have.
	instances int
}

func (d *directory) part() section {
	p := section{at: d.at, len: d.Count(int(min(d.size-d.at, 1<<31-1)))}
	p.sum = d.Uint32()
	d.at += int64(p.len)
	return p
}

func (c *Chunk) parse(dir []byte, at int64) error {
	d := &directory{Reader: varint.Reader{In: dir}, at: at, size: c.size}
	if b := d.Bytes(1); b != nil {
		c.Class = metric.Class(b[0])
	}
	c.ticks = d.Count(MaxTicks)
	c.timesAt = d.part()
	c.reasons = parseReasons(&d.Reader)
	c.nwords = d.Count(int(min(c.size*256, maxTexts)))
	c.wordsAt = d.part()
	for n := d.Count(maxGroups); n > 0 && !d.Bad; n-- {
		c.Groups = append(c.Groups, c.parseGroup(d))
	}
	c.sketchesAt = d.part()
	if d.Bad || len(d.In) != 0 || d.at > c.size {
		return fmt.Errorf("the directory contradicts itself")
	}
	return nil
}

func (c *Chunk) parseGroup(d *directory) *Group {
	g := &Group{chunk: c, number: len(c.Groups), Name: d.String(), Indom: d.String()}
	ncols := d.Count(min(maxColumns, len(d.In)))
	g.Columns = make([]Column, 0, ncols)
	prev := int64(0)
	for range ncols {
		v := d.Uvarint()
		prev += unzigzag(v >> 4)
		t := metric.Type(v & 15)
		if !t.Valid() || prev < 0 || prev > 1<<32-1 {
			d.Bad = true
		}
		g.Columns = append(g.Columns, Column{Number: uint32(prev), Type: t})
	}
	g.Blocks = d.Count(c.ticks)
	g.Size = d.Count(int(min(maxInstances, instancesFree+c.size*instancesPerByte)) - d.instances)
	d.instances += g.Size
	if g.Blocks == 0 || g.Size == 0 {
		d.Bad = d.Bad || g.Size != 0
	}
	g.blocksAt, g.livesAt, g.indexAt = d.part(), d.part(), d.part()
	g.namesAt, g.activeAt, g.sumsAt = d.part(), d.part(), d.part()
	bytes := 0
	for i := range g.Columns {
		n := d.Count(int(min(d.size-d.at, 1<<31-1)) - bytes)
		g.Columns[i].from, g.Columns[i].to = bytes, bytes+n
		g.Columns[i].pack = len(g.packs)
		bytes += n
		if bytes >= packSize || bytes > 0 && i == ncols-1 {
			g.packs = append(g.packs, section{d.at, bytes, d.Uint32()})
			d.at += int64(bytes)
			bytes = 0
		}
		if d.Bad {
			break
		}
	}
	return g
}

var errChecksum = errors.New("the checksum is wrong: it is damaged")

// read returns the bytes of a part after checking them.
func (c *Chunk) read(p section, what string) ([]byte, error) {
	if p.len == 0 {
		if p.sum != 0 {
			return nil, fmt.Errorf("%s: %w", what, errChecksum)
		}
		return nil, nil
	}
	b := make([]byte, p.len)
	if _, err := c.in.ReadAt(b, p.at); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := c.check(b, p.sum, what); err != nil {
		return nil, err
	}
	return b, nil
}

// check compares b with its checksum, and repairs b if one bit is wrong.
func (c *Chunk) check(b []byte, sum uint32, what string) error {
	if Checksum(b) == sum {
		return nil
	}
	if !Mend(b, sum) {
		return fmt.Errorf("%s: %w", what, errChecksum)
	}
	if !slices.Contains(c.mended, what) {
		c.mended = append(c.mended, what)
	}
	return nil
}

// Stamps returns the stamps of the ticks.
func (c *Chunk) Stamps() ([]metric.Stamp, error) {
	if c.stamps == nil {
		b, err := c.read(c.timesAt, "times")
		if err != nil {
			return nil, err
		}
		wall, cont, awake, err := c.codec.clocks(b, c.ticks, true)
		if err != nil {
			return nil, fmt.Errorf("times: %w", err)
		}
		c.stamps = make([]metric.Stamp, c.ticks)
		for i := range c.stamps {
			c.stamps[i] = metric.Stamp{Wall: wall[i], Awake: awake[i], Cont: cont[i]}
		}
	}
	return c.stamps, nil
}

// Words returns the strings that the cells of string columns refer to by number.
func (c *Chunk) Words() ([]string, error) {
	if c.words == nil && c.nwords > 0 {
		b, err := c.read(c.wordsAt, "strings")
		if err != nil {
			return nil, err
		}
		if c.words, err = c.codec.strings(b, c.nwords); err != nil {
			return nil, fmt.Errorf("strings: %w", err)
		}
	}
	return c.words, nil
}

// clocks returns the wall and the continuous clock of the ticks.
func (c *Chunk) clocks() (wall, cont []int64, err error) {
	if c.wall == nil {
		b, err := c.read(c.timesAt, "times")
		if err != nil {
			return nil, nil, err
		}
		if c.wall, c.cont, _, err = c.codec.clocks(b, c.ticks, false); err != nil {
			return nil, nil, fmt.Errorf("times: %w", err)
		}
	}
	return c.wall, c.cont, nil
}
