package chunk

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// During returns exactly the instances that were there in some of the blocks, with the same
// content as Instances returns.
func TestDuring(t *testing.T) {
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 13))
		blocks := 1 + rnd.IntN(60)
		insts := someInstances(rnd, 1+rnd.IntN(1500), blocks)
		all, err := groupOf(insts, blocks).Instances()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		g := groupOf(insts, blocks)
		for range 8 {
			first := uint32(rnd.IntN(blocks))
			last := first + uint32(rnd.IntN(blocks-int(first)))
			want := []int{}
			for i := range all {
				if slices.ContainsFunc(all[i].Runs, func(r Run) bool { return r.Start <= last && r.End > first }) {
					want = append(want, i)
				}
			}
			got, err := g.During(first, last)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: from %d to %d of %d there were %v: %v; want %v", seed, first, last, blocks, got, err, want)
			}
			for _, row := range got {
				if in, err := g.Instance(row); err != nil || !reflect.DeepEqual(*in, all[row]) {
					t.Fatalf("seed %d: row %d is %v: %v; want %v", seed, row, in, err, all[row])
				}
			}
		}
	}
}

// The names of instances that came later are not decoded, and nothing that was learned for
// them is kept.
func TestDuringDecodesFew(t *testing.T) {
	const blocks, each = 100, 30
	var insts []Instance
	for i := range blocks * each {
		at := uint32(i / each)
		insts = append(insts, Instance{Key: string(rune('a'+i%26)) + "/" + string(rune('0'+i%10)) + "." + string(rune(0x4e00+i)),
			Runs: []Run{{at, min(at+3, blocks)}}})
	}
	g := groupOf(insts, blocks)
	if _, err := g.During(50, 52); err != nil {
		t.Fatal(err)
	}
	r := g.holder.(*register)
	bodied, models := 0, 0
	for i := range r.read {
		bodied += r.read[i].bodied
		if r.read[i].body != nil && !r.teaches(i) {
			models++
		}
	}
	if bodied > len(insts)/3 { // includes those from which others learn
		t.Errorf("%d of %d names were decoded for %d instances", bodied, len(insts), 5*each)
	}
	if models > 0 {
		t.Errorf("%d segments keep what they learned", models)
	}
}
