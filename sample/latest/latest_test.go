package latest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

var disks = &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
	{Name: "disk.read", Type: metric.U64, Indom: "disk"}, {Name: "disk.model", Type: metric.String, Indom: "disk"},
}}

// read makes a tick of disks at a second: their model is their name, and what
// is read of "gone" is missing.
func read(second int64, names ...string) *metric.Tick {
	f := sample.NewFrame(disks, func(*metric.Desc) bool { return true })
	f.Reset(metric.Stamp{Cont: second})
	for i, name := range names {
		row := f.Row(&metric.Instance{ID: uint64(i), Key: name, Name: name})
		f.SetUint(row, 0, uint64(second*10)+uint64(i))
		f.SetString(row, 1, "a "+name)
		if name == "gone" {
			f.SetMissing(row, 0, metric.Vanished)
		}
	}
	return &metric.Tick{Blocks: []*metric.Block{f.Block()}}
}

func show(s *Sink) (lines []string) {
	for v := range s.All() {
		text := fmt.Sprintf("%s %s %s @%d", v.Desc.Name, v.Key(), v.Value, v.At.Cont)
		if v.Value.Miss != metric.Present {
			text += " " + v.Value.Miss.String()
		}
		lines = append(lines, text)
	}
	return lines
}

func check(t *testing.T, s *Sink, want ...string) {
	t.Helper()
	if got := show(s); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLatest(t *testing.T) {
	s := New()
	check(t, s)
	tick := read(1, "sda", "gone")
	s.Append(tick)
	// What was appended belongs to the engine again.
	b := tick.Blocks[0]
	b.Rows[0], b.Cols[0].Bits[0], b.Cols[0].Miss[0] = nil, 99, metric.Other
	check(t, s, "disk.model sda a sda @1", "disk.model gone a gone @1", "disk.read sda 10 @1", "disk.read gone  @1 vanished")

	t.Run("instances that end leave", func(t *testing.T) {
		s.Append(read(2, "sdb", "sda"))
		check(t, s, "disk.model sdb a sdb @2", "disk.model sda a sda @2", "disk.read sdb 20 @2", "disk.read sda 21 @2")
	})
	t.Run("a metric goes over to another class", func(t *testing.T) {
		moved := read(3, "sda")
		moved.Class = metric.Fast
		moved.Blocks[0].Group = &metric.Group{Name: "disk", Indom: "disk", Metrics: disks.Metrics[:1]}
		s.Append(moved)
		check(t, s, "disk.model sdb a sdb @2", "disk.model sda a sda @2", "disk.read sda 30 @3")
	})
	t.Run("all instances end", func(t *testing.T) {
		s.Append(read(4))
		check(t, s)
	})
}

// Whoever reads sees all instances of a metric as they were at one instant.
func TestReadingWhileTheEngineWrites(t *testing.T) {
	s := New()
	s.Append(read(1, "sda", "sdb"))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				at := make(map[string]int64)
				for v := range s.All() {
					if first, ok := at[v.Desc.Name]; ok && first != v.At.Cont {
						t.Errorf("%s of %d and of %d", v.Desc.Name, first, v.At.Cont)
						return
					}
					at[v.Desc.Name] = v.At.Cont
				}
			}
		})
	}
	tick := read(1, "sda", "sdb")
	for i := range int64(500) {
		tick.Blocks[0].At.Cont = i
		tick.Blocks[0].Cols[0].Bits[0]++
		s.Append(tick)
	}
	close(done)
	readers.Wait()
}
