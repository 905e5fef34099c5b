package chunk

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// TestPresent reads what a builder holds in place, and compares it with the same content
// encoded and decoded, including times and keys. It does so again after the builder has
// taken more.
func TestPresent(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := storetest.NewWorld(seed)
			var n numbers
			b := NewBuilder(w.Class)
			var before *Chunk
			var was storetest.Ledger
			for range 3 {
				for range 3 + w.R.IntN(20) {
					if err := b.Append(w.Tick()); err != nil {
						t.Fatal(err)
					}
				}
				s, err := b.SealBare(n.number)
				if err != nil {
					t.Fatal(err)
				}
				sealed := open(t, s)
				present, info, err := b.Present(n.number)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size, info.Sum = s.Info.Size, s.Info.Sum; info != s.Info {
					t.Errorf("info is %+v, of the encoded chunk %+v", info, s.Info)
				}
				want, got := make(storetest.Ledger), make(storetest.Ledger)
				readAll(t, want, sealed, &n)
				readAll(t, got, present, &n)
				if !reflect.DeepEqual(want, got) {
					t.Fatal("the values differ")
				}
				for i, g := range present.Groups {
					sameGroup(t, g, sealed.Groups[i])
				}
				again, _, err := b.Present(n.number)
				if err != nil {
					t.Fatal(err)
				}
				readBeside(t, again, want, &n)
				if before != nil {
					again := make(storetest.Ledger)
					readAll(t, again, before, &n)
					if !reflect.DeepEqual(again, was) {
						t.Fatal("what was present has changed")
					}
				}
				before, was = present, got
			}
		})
	}
}

func sameGroup(t *testing.T, g, of *Group) {
	t.Helper()
	wall, cont, err := g.Times()
	if err != nil {
		t.Fatal(err)
	}
	if w, c, err := of.Times(); err != nil || !slices.Equal(w, wall) || !slices.Equal(c, cont) {
		t.Error("the times differ", err)
	}
	insts, err := of.Instances()
	if err != nil {
		t.Fatal(err)
	}
	for i := range insts {
		if row, err := g.Find(insts[i].Key); err != nil || row != i {
			t.Errorf("%q is row %d instead of %d, %v", insts[i].Key, row, i, err)
		}
		if in, err := g.Instance(i); err != nil || !reflect.DeepEqual(in.Runs, insts[i].Runs) {
			t.Errorf("row %d was there %v instead of %v, %v", i, in.Runs, insts[i].Runs, err)
		}
	}
	if row, err := g.Find("no such key"); row != -1 || err != nil {
		t.Error("found what is not there", row, err)
	}
}

// TestSomeRows reads a few rows of a chunk that was just opened, in any order, and compares
// series, instances and summaries with those of a chunk that was read whole.
func TestSomeRows(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := storetest.NewWorld(seed)
			var n numbers
			b := NewBuilder(w.Class)
			for range 20 + w.R.IntN(60) {
				if err := b.Append(w.Tick()); err != nil {
					t.Fatal(err)
				}
			}
			s, err := b.Seal(n.number)
			if err != nil {
				t.Fatal(err)
			}
			whole := open(t, s)
			for i, g := range whole.Groups {
				someRows(t, w.R, g, func() *Group { return open(t, s).Groups[i] }, &n)
			}
		})
	}
}

// stretches returns the stretches of some rows of a column up to the block to. Their series
// were decoded up to the block until.
func stretches(t *testing.T, g *Group, col int, rows []int, until, to uint32) (list [][5]uint64) {
	t.Helper()
	err := g.SeriesUntil(col, rows, until, func(i int, s *Series) error {
		in, err := g.Instance(i)
		if err == nil {
			s.Stretches(in, 0, to, func(start, end uint32, bits uint64, why metric.Reason) {
				list = append(list, [5]uint64{uint64(i), uint64(start), uint64(end), bits, uint64(why)})
			})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func someRows(t *testing.T, rnd *rand.Rand, g *Group, fresh func() *Group, n *numbers) {
	t.Helper()
	insts, err := g.Instances()
	if err != nil {
		t.Fatal(err)
	}
	desc := func(col int) *metric.Desc { return n.desc(g.Columns[col].Number) }
	sums := make(map[[2]int]Summary)
	if err := g.Summaries(desc, nil, func(col, i int, s *Summary) { sums[[2]int{col, i}] = *s }); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		some := fresh()
		rows := []int{}
		for range 1 + rnd.IntN(3) {
			if g.Size > 0 {
				rows = append(rows, rnd.IntN(g.Size))
			}
		}
		for _, row := range rows {
			if found, err := some.Find(insts[row].Key); g.Indom != metric.NoIndom && (err != nil || found != row) {
				t.Fatalf("%q is row %d instead of %d, %v", insts[row].Key, found, row, err)
			}
			if in, err := some.Instance(row); err != nil || !reflect.DeepEqual(*in, insts[row]) {
				t.Fatalf("row %d alone is %v instead of %v, %v", row, in, insts[row], err)
			}
		}
		slices.Sort(rows)
		rows = slices.Compact(rows)
		for col := range g.Columns {
			type points struct {
				At   []uint32
				Bits []uint64
				miss []missAt
			}
			read := func(g *Group, rows []int) map[int]points {
				list := make(map[int]points)
				err := g.Series(col, rows, func(i int, s *Series) error {
					list[i] = points{append([]uint32{}, s.At...), append([]uint64{}, s.Bits...), append([]missAt{}, s.miss...)}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			all, few := read(g, nil), read(some, rows)
			if len(few) != len(rows) {
				t.Fatalf("%d series of %d rows", len(few), len(rows))
			}
			for row, s := range few {
				if !reflect.DeepEqual(s, all[row]) {
					t.Fatalf("series %d of column %d is %v alone, %v among all", row, col, s, all[row])
				}
			}
			until := uint32(rnd.IntN(g.Blocks + 1))
			begun, whole := stretches(t, some, col, rows, until, until), stretches(t, g, col, rows, wholeSeries, until)
			if !reflect.DeepEqual(begun, whole) {
				t.Fatalf("rows %v of column %d up to block %d are %v, decoded to the end %v", rows, col, until, begun, whole)
			}
		}
		got := 0
		err := some.Summaries(desc, rows, func(col, i int, s *Summary) {
			if got++; sums[[2]int{col, i}] != *s || !slices.Contains(rows, i) {
				t.Errorf("the summary of row %d of column %d differs", i, col)
			}
		})
		want := 0
		for at := range sums {
			if slices.Contains(rows, at[1]) {
				want++
			}
		}
		if err != nil || got != want {
			t.Errorf("%d summaries instead of %d, %v", got, want, err)
		}
	}
}

// readBeside reads c and its twin at the same time, as two concurrent queries do.
func readBeside(t *testing.T, c *Chunk, want storetest.Ledger, n *numbers) {
	t.Helper()
	var group sync.WaitGroup
	var got [2]storetest.Ledger
	for i, c := range []*Chunk{c, c.Twin()} {
		got[i] = make(storetest.Ledger)
		group.Go(func() { readAll(t, got[i], c, n) })
	}
	group.Wait()
	for i := range got {
		if !reflect.DeepEqual(want, got[i]) {
			t.Fatal("the values differ for one of two who read at once")
		}
	}
}
