package report

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"testing"
	"time"

	"tachograph/store/query"
)

// unpacked is a page's data as a page reads it.
type unpacked struct {
	document
	Ends []int `json:"ends"`
	raw  []byte
}

func unpack(t *testing.T, p *Page) *unpacked {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteData(&b); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(flate.NewReader(&b))
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint32(raw)
	u := &unpacked{raw: raw[4+n:]}
	if err := json.Unmarshal(raw[4:4+n], u); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *unpacked) bits(block int) []uint32 {
	from := 0
	if block > 1 {
		from = u.Ends[block-2]
	}
	n := (u.Ends[block-1] - from) / 4
	out := make([]uint32, n)
	before := uint32(0)
	for i := range out {
		for p := range 4 {
			before ^= uint32(u.raw[from+p*n+i]) << (8 * p)
		}
		out[i] = before
	}
	return out
}

func (u *unpacked) numbers(block int) []float64 {
	var out []float64
	for _, b := range u.bits(block) {
		out = append(out, float64(math.Float32frombits(b)))
	}
	return out
}

func (u *unpacked) plot(id string) *Plot {
	for _, p := range u.Plots {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func near(x, y float64) bool {
	return math.Abs(x-y) <= 1e-6*max(math.Abs(x), math.Abs(y)) || x != x && y != y
}

// TestColumns compares the columns of plots with what replay rates and values
// --step answer.
func TestColumns(t *testing.T) {
	a := mac(t)
	for _, columns := range []int{0, 50} {
		u := unpack(t, collect(t, a, Request{Columns: columns}))
		for _, c := range []struct {
			plot, line, metric string
			factor             float64
		}{
			{"cpu", "user", "kernel.all.cpu.user", 1. / 8}, {"disk-all", "written", "disk.all.write_bytes", 1024}, {"temperature", "cpu", "thermal.cpu.die", 1}, {"load", "load", "kernel.all.load", 1},
		} {
			if columns == 0 && c.plot == "temperature" {
				continue // Its readings are farther apart than columns, which hold on to them.
			}
			p := u.plot(c.plot)
			if p == nil {
				t.Fatalf("no plot %s", c.plot)
			}
			var line *Line
			for _, l := range p.Series {
				if l.Name == c.line {
					line = l
				}
			}
			means := u.numbers(line.Mean)
			r := query.Request{Metrics: []string{c.metric}, Mode: query.Shown, Step: int64(u.Step * 1e6), Origin: int64(u.First * 1e6)}
			compared := 0
			for s, err := range query.Read(a, r) {
				if err != nil {
					t.Fatal(err)
				}
				if s.Instance != nil && s.Instance.Key != "1" {
					continue
				}
				for i, wall := range s.Wall {
					if s.Miss != nil && s.Miss[i] != 0 {
						continue
					}
					_, end := r.StepAt(wall)
					k := int((end-r.Origin)/r.Step) - 1
					if want := s.Value(i).Number() * c.factor; !near(means[k], want) {
						t.Fatalf("%d columns, %s: %s at %s: %g, want %g", u.Columns, c.plot, c.line, time.Unix(0, wall).UTC(), means[k], want)
					}
					compared++
				}
			}
			if compared < 19 {
				t.Errorf("%s: %d values compared", c.plot, compared)
			}
		}
	}
}

// TestTables compares the process tables with those of replay ps --at.
func TestTables(t *testing.T) {
	a := mac(t)
	u := unpack(t, collect(t, a, Request{}))
	p := u.Processes
	process, sweep, cpu, memory, read, written := u.bits(p.Process), u.bits(p.Sweep), u.numbers(p.CPU), u.numbers(p.Memory), u.numbers(p.Read), u.numbers(p.Written)
	rows := make(map[[2]int]int)
	for i := range process {
		rows[[2]int{int(sweep[i]), p.PIDs[process[i]]}] = i
	}
	if len(p.At) < 100 {
		t.Fatalf("%d tables", len(p.At))
	}
	for k, at := range p.At {
		list := query.Processes(a, query.Window{}, int64(at*1e6), nil)
		if len(list) != p.Totals[k] {
			t.Errorf("%s: %d processes, want %d", time.UnixMilli(int64(at)).UTC(), p.Totals[k], len(list))
		}
		for _, want := range list {
			i, ok := rows[[2]int{k, want.PID}]
			if !ok {
				t.Fatalf("%s: no process %d", time.UnixMilli(int64(at)).UTC(), want.PID)
			}
			n := process[i]
			if p.Names[p.Name[n]] != want.Name || p.Users[p.User[n]] != want.User || !near(cpu[i], want.CPU()) || !near(memory[i], want.Memory()) ||
				!near(read[i], want.Rates[query.ReadBytes]) || !near(written[i], want.Rates[query.WrittenBytes]) {
				t.Fatalf("%s: %s (%s) cpu %g, memory %g, read %g, written %g; want %s (%s) %g %g %g %g", time.UnixMilli(int64(at)).UTC(),
					p.Names[p.Name[n]], p.Users[p.User[n]], cpu[i], memory[i], read[i], written[i],
					want.Name, want.User, want.CPU(), want.Memory(), want.Rates[query.ReadBytes], want.Rates[query.WrittenBytes])
			}
		}
	}
}
