package perfetto

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"testing"
)

// This reads traces by what the format is, and shares nothing with what writes
// them.

type readTrack struct {
	name   string
	parent uint64
	pid    int64
	unit   int64
	unitOf string
	points []point
	slices []slice
	marks  []mark
	open   []slice
}

type point struct {
	at int64
	v  float64
}

type slice struct {
	from, to int64
	name     string
}

type mark struct {
	at   int64
	name string
}

type readTrace struct {
	tracks map[uint64]*readTrack
	wall   int64 // at trace time 0
}

// takeApart takes a message apart: numbers and bytes by field.
func takeApart(b []byte, each func(field int, n uint64, data []byte) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("no key at %x", b[:min(len(b), 8)])
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch key & 7 {
		case 0:
			if v, n = binary.Uvarint(b); n <= 0 {
				return fmt.Errorf("field %d: no number", key>>3)
			}
			b = b[n:]
		case 1:
			if len(b) < 8 {
				return fmt.Errorf("field %d: no eight bytes", key>>3)
			}
			v, b = binary.LittleEndian.Uint64(b), b[8:]
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || uint64(len(b)-n) < size {
				return fmt.Errorf("field %d: %d bytes of %d", key>>3, len(b), size)
			}
			data, b = b[n:n+int(size)], b[n+int(size):]
		default:
			return fmt.Errorf("field %d has wire type %d", key>>3, key&7)
		}
		if err := each(int(key>>3), v, data); err != nil {
			return err
		}
	}
	return nil
}

func readBack(t *testing.T, raw []byte) *readTrace {
	t.Helper()
	tr := &readTrace{tracks: make(map[uint64]*readTrack)}
	first := true
	err := takeApart(raw, func(field int, _ uint64, packet []byte) error {
		if field != 1 {
			return fmt.Errorf("a trace has field %d", field)
		}
		var at int64
		var sequence, flags uint64
		var event, descriptor, clocks []byte
		if err := takeApart(packet, func(f int, n uint64, data []byte) error {
			switch f {
			case 6:
				clocks = data
			case 8:
				at = int64(n)
			case 10:
				sequence = n
			case 11:
				event = data
			case 13:
				flags = n
			case 60:
				descriptor = data
			default:
				return fmt.Errorf("a packet has field %d", f)
			}
			return nil
		}); err != nil {
			return err
		}
		if sequence == 0 || first != (flags == 1) {
			return fmt.Errorf("sequence %d, flags %d", sequence, flags)
		}
		first = false
		switch {
		case clocks != nil:
			return tr.clock(clocks)
		case descriptor != nil:
			return tr.describe(descriptor)
		case event != nil:
			return tr.event(at, event)
		}
		return fmt.Errorf("an empty packet")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range tr.tracks {
		sort.SliceStable(k.points, func(i, j int) bool { return k.points[i].at < k.points[j].at })
		if len(k.open) > 0 {
			t.Errorf("a slice of %s does not end", k.name)
		}
		if _, ok := tr.tracks[k.parent]; k.parent != 0 && !ok {
			t.Errorf("%s stands below a track that is none", k.name)
		}
	}
	return tr
}

func (tr *readTrace) clock(b []byte) error {
	var boot, real int64 = -1, -1
	err := takeApart(b, func(f int, _ uint64, data []byte) error {
		if f != 1 {
			return nil
		}
		var id, at uint64
		err := takeApart(data, func(f int, n uint64, _ []byte) error {
			if f == 1 {
				id = n
			} else {
				at = n
			}
			return nil
		})
		switch id {
		case 6:
			boot = int64(at)
		case 1:
			real = int64(at)
		}
		return err
	})
	tr.wall = real - boot
	return err
}

func (tr *readTrace) describe(b []byte) error {
	k := &readTrack{}
	var id uint64
	err := takeApart(b, func(f int, n uint64, data []byte) error {
		switch f {
		case 1:
			id = n
		case 2:
			k.name = string(data)
		case 5:
			k.parent = n
		case 3:
			return takeApart(data, func(f int, n uint64, _ []byte) error {
				if f == 1 {
					k.pid = int64(n)
				}
				return nil
			})
		case 8:
			return takeApart(data, func(f int, n uint64, data []byte) error {
				switch f {
				case 3:
					k.unit = int64(n)
				case 6:
					k.unitOf = string(data)
				}
				return nil
			})
		}
		return nil
	})
	if _, twice := tr.tracks[id]; twice || id == 0 {
		return fmt.Errorf("track %d (%s) is described twice", id, k.name)
	}
	tr.tracks[id] = k
	return err
}

func (tr *readTrace) event(at int64, b []byte) error {
	var kind, on uint64
	name, v := "", math.NaN()
	if err := takeApart(b, func(f int, n uint64, data []byte) error {
		switch f {
		case 9:
			kind = n
		case 11:
			on = n
		case 23:
			name = string(data)
		case 30:
			v = float64(int64(n))
		case 44:
			v = math.Float64frombits(n)
		default:
			return fmt.Errorf("an event has field %d", f)
		}
		return nil
	}); err != nil {
		return err
	}
	k := tr.tracks[on]
	if k == nil {
		return fmt.Errorf("an event of track %d, which nobody has described", on)
	}
	switch kind {
	case 1:
		k.open = append(k.open, slice{from: at, name: name})
	case 2:
		if len(k.open) == 0 {
			return fmt.Errorf("a slice of %s ends that has not begun", k.name)
		}
		s := k.open[len(k.open)-1]
		k.open, s.to = k.open[:len(k.open)-1], at
		if s.to < s.from {
			return fmt.Errorf("slice %s ends before it begins", s.name)
		}
		k.slices = append(k.slices, s)
	case 3:
		k.marks = append(k.marks, mark{at, name})
	case 4:
		k.points = append(k.points, point{at, v})
	default:
		return fmt.Errorf("an event of type %d", kind)
	}
	return nil
}

// at is what a counter is at an instant; NaN is nothing.
func (k *readTrack) at(at int64) float64 {
	i := sort.Search(len(k.points), func(i int) bool { return k.points[i].at > at })
	if i == 0 {
		return math.NaN()
	}
	return k.points[i-1].v
}

// find is the track with that path of names.
func (tr *readTrace) find(path ...string) *readTrack {
	for _, k := range tr.tracks {
		at := k
		i := len(path) - 1
		for ; i >= 0 && at != nil && at.name == path[i]; i-- {
			at = tr.tracks[at.parent]
		}
		if i < 0 {
			return k
		}
	}
	return nil
}
