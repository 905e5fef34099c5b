// Package storetest supplies tests and benchmarks of the archive with data:
// recordings in the stream format of the shared datasets.
package storetest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tachograph/sample/metric"

	"github.com/klauspost/compress/zstd"
)

// ErrNone means that no dataset was found.
var ErrNone = errors.New("storetest: no dataset: set TACHO_DATASET to the path of one")

// Find returns the dataset named by TACHO_DATASET, or the one beside the module.
func Find() (string, error) {
	if p := os.Getenv("TACHO_DATASET"); p != "" {
		return p, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		p := filepath.Join(dir, "shared", "datasets", "workstation-a.bin.zst")
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", ErrNone
}

// boot is the assumed start of a dataset's machine: the format holds wall clocks only.
const boot = 1e18

// Dataset reads a recording tick by tick. Instances that are processes have names like "PID
// STARTTIME COMM".
type Dataset struct {
	in     *bufio.Reader
	zip    *zstd.Decoder
	file   *os.File
	groups map[uint64]*set
	insts  map[uint64]*instance
	wall   int64
	err    error
	system metric.Tick
	proc   metric.Tick
}

type set struct {
	block metric.Block
}

type instance struct {
	metric.Instance
	row []uint64
}

// Open opens the dataset at path.
func Open(path string) (*Dataset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Close()
		return nil, err
	}
	d := &Dataset{
		in: bufio.NewReaderSize(z, 1<<16), zip: z, file: f,
		groups: make(map[uint64]*set), insts: make(map[uint64]*instance),
	}
	magic := make([]byte, 5)
	if _, err := io.ReadFull(d.in, magic); err != nil || string(magic) != "WKD1\n" {
		d.Close()
		return nil, fmt.Errorf("storetest: %s is not a dataset", path)
	}
	d.text()
	return d, nil
}

// Close releases the file.
func (d *Dataset) Close() {
	d.zip.Close()
	d.file.Close()
}

func (d *Dataset) u() uint64 {
	v, err := binary.ReadUvarint(d.in)
	if err != nil && d.err == nil {
		d.err = io.ErrUnexpectedEOF
	}
	return v
}

func (d *Dataset) i() int64 {
	v, err := binary.ReadVarint(d.in)
	if err != nil && d.err == nil {
		d.err = io.ErrUnexpectedEOF
	}
	return v
}

func (d *Dataset) text() string {
	b := make([]byte, min(d.u(), 1<<20))
	if _, err := io.ReadFull(d.in, b); err != nil && d.err == nil {
		d.err = io.ErrUnexpectedEOF
	}
	return string(b)
}

// Next reads one instant: the system's tick and the processes' tick, both valid until the next
// call. It returns io.EOF at the end.
func (d *Dataset) Next() (system, proc *metric.Tick, err error) {
	for d.err == nil {
		kind, err := d.in.ReadByte()
		if err != nil {
			d.err = err
			break
		}
		switch kind {
		case 'G':
			id := d.u()
			name := d.text()
			d.groups[id] = &set{block: metric.Block{Group: &metric.Group{Name: name, Indom: name}}}
		case 'M':
			d.metric()
		case 'I':
			d.instance()
		case 'T':
			d.tick()
			if d.err == nil {
				return &d.system, &d.proc, nil
			}
		default:
			d.err = fmt.Errorf("storetest: unknown record %q", kind)
		}
	}
	return nil, nil, d.err
}

func (d *Dataset) metric() {
	d.u()
	g := d.groups[d.u()]
	kind, err := d.in.ReadByte()
	unit := d.text()
	name := d.text()
	if g == nil || err != nil {
		d.err = errors.Join(errors.New("storetest: metric without group"), err)
		return
	}
	sem := metric.Instant
	if kind == 'c' {
		sem = metric.Counter
	}
	units, err := metric.ParseUnits(unit)
	if err != nil {
		units = metric.NoUnits
	}
	class := metric.Fast
	if g.block.Group.Name == "process" {
		class = metric.Process
	}
	g.block.Group.Metrics = append(g.block.Group.Metrics, &metric.Desc{
		Name: g.block.Group.Name + "." + name, Type: metric.U64, Sem: sem, Units: units,
		Indom: g.block.Group.Indom, Class: class,
	})
}

func (d *Dataset) instance() {
	id := d.u()
	d.u()
	name := d.text()
	key := name
	if f := strings.SplitN(name, " ", 3); len(f) == 3 {
		key = f[0] + "/" + f[1]
		name = fmt.Sprintf("%06s %s", f[0], f[2])
	}
	if in := d.insts[id]; in != nil {
		in.Name = name
		in.Rev++
		return
	}
	d.insts[id] = &instance{Instance: metric.Instance{ID: id, Key: key, Name: name}}
}

func (d *Dataset) tick() {
	d.wall += d.i()
	at := metric.Stamp{Wall: d.wall, Awake: d.wall - boot, Cont: d.wall - boot}
	d.system = metric.Tick{Class: metric.Fast, At: at, Blocks: d.system.Blocks[:0]}
	d.proc = metric.Tick{Class: metric.Process, At: at, Blocks: d.proc.Blocks[:0]}
	for n := d.u(); n > 0 && d.err == nil; n-- {
		g := d.groups[d.u()]
		if g == nil {
			d.err = errors.New("storetest: tick of an unknown group")
			return
		}
		d.block(&g.block, at)
		if g.block.Group.Name == "process" {
			d.proc.Blocks = append(d.proc.Blocks, &g.block)
		} else {
			d.system.Blocks = append(d.system.Blocks, &g.block)
		}
	}
}

func (d *Dataset) block(b *metric.Block, at metric.Stamp) {
	b.At = at
	b.Rows = b.Rows[:0]
	if b.Cols == nil {
		b.Cols = make([]metric.Column, len(b.Group.Metrics))
	}
	for j := range b.Cols {
		b.Cols[j].Bits = b.Cols[j].Bits[:0]
	}
	id := uint64(0)
	for n := d.u(); n > 0 && d.err == nil; n-- {
		id += d.u()
		in := d.insts[id]
		if in == nil {
			d.err = errors.New("storetest: row of an unknown instance")
			return
		}
		if in.row == nil {
			in.row = make([]uint64, len(b.Cols))
		}
		b.Rows = append(b.Rows, &in.Instance)
		for j := range b.Cols {
			in.row[j] += uint64(d.i())
			b.Cols[j].Bits = append(b.Cols[j].Bits, in.row[j])
		}
	}
}
