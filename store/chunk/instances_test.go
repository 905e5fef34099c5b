package chunk

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// someInstances returns n instances whose names vary in every way: some instances are there
// from the first block, numbers are used again, names change later or never, instances leave
// and come back, and names consist of digits or of arbitrary bytes.
func someInstances(rnd *rand.Rand, n, blocks int) []Instance {
	words := []string{"sh", "node", "kworker/3:1", "a1b22", "\x01odd", "zero\x00", "", "9", strings.Repeat("7", 40), "1 2 3 4 5 6 7 8 9 10 11 12 13 14"}
	var out []Instance
	seen := make(map[string]bool)
	for i := range n {
		pid := rnd.IntN(n)
		key := fmt.Sprintf("%d/%d", pid, i*3)
		switch rnd.IntN(40) {
		case 0:
			key = fmt.Sprintf("sd%c", 'a'+rnd.IntN(26))
		case 1:
			key = words[rnd.IntN(len(words))]
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		in := Instance{Key: key}
		at := uint32(rnd.IntN(blocks))
		if rnd.IntN(4) == 0 {
			at = 0
		}
		for at < uint32(blocks) {
			end := min(at+1+uint32(rnd.IntN(9)), uint32(blocks))
			if rnd.IntN(3) == 0 {
				end = uint32(blocks)
			}
			in.Runs = append(in.Runs, Run{at, end})
			if rnd.IntN(3) > 0 {
				break
			}
			at = end + 1 + uint32(rnd.IntN(5))
		}
		names := 1
		if rnd.IntN(8) == 0 {
			names = rnd.IntN(4)
		}
		for k := range min(names, blocks-int(in.Runs[0].Start)) {
			nm := Naming{Block: in.Runs[0].Start + uint32(k), Name: fmt.Sprintf("%06d %s", pid, words[rnd.IntN(len(words))])}
			if rnd.IntN(9) == 0 {
				nm.Name = words[rnd.IntN(len(words))]
			}
			for l := range rnd.IntN(3) {
				nm.Labels = append(nm.Labels, metric.Label{Name: []string{"pid", "exe"}[l], Value: fmt.Sprint(pid + l)})
			}
			in.Names = append(in.Names, nm)
		}
		out = append(out, in)
	}
	return out
}

// groupOf returns an open group with these instances.
func groupOf(insts []Instance, blocks int) *Group {
	arranged := make([]Instance, len(insts))
	for i, n := range arrangement(insts) {
		arranged[i] = insts[n]
	}
	index, names, early, err := encodeInstances(nil, nil, arranged)
	if err != nil {
		panic(err)
	}
	lives := encodeLives(nil, arranged, early, blocks)
	return openedGroup(index, names, lives, len(insts), blocks)
}

func openedGroup(index, names, lives []byte, n, blocks int) *Group {
	all := slices.Concat(index, names, lives)
	g := &Group{Name: "g", Blocks: blocks, Size: n, chunk: &Chunk{codec: codecs[Version], in: strings.NewReader(string(all)), size: int64(len(all))}}
	at := int64(0)
	for _, p := range []struct {
		part *section
		b    []byte
	}{{&g.indexAt, index}, {&g.namesAt, names}, {&g.livesAt, lives}} {
		*p.part = section{at: at, len: len(p.b), sum: Checksum(p.b)}
		at += int64(len(p.b))
	}
	return g
}

// TestInstancesComeBack encodes instances and reads them in every way: all at once, one by
// one in any order, by key, and by a search, which must not miss any that a full decode
// finds.
func TestInstancesComeBack(t *testing.T) {
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		blocks := 1 + rnd.IntN(60)
		insts := someInstances(rnd, 1+rnd.IntN(900), blocks)
		want := make(map[string]Instance)
		for _, in := range insts {
			want[in.Key] = in
		}
		all, err := groupOf(insts, blocks).Instances()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range all {
			if !reflect.DeepEqual(all[i], want[all[i].Key]) {
				t.Fatalf("seed %d: row %d is %v, want %v", seed, i, all[i], want[all[i].Key])
			}
		}
		g := groupOf(insts, blocks)
		for range 30 {
			i := rnd.IntN(len(all))
			if row, err := g.Find(all[i].Key); row != i || err != nil {
				t.Fatalf("seed %d: %q is in row %d: %v; want %d", seed, all[i].Key, row, err, i)
			}
			if row, err := g.Find(all[i].Key + "0"); err != nil || row >= 0 && all[row].Key != all[i].Key+"0" {
				t.Fatalf("seed %d: %q is in row %d: %v", seed, all[i].Key+"0", row, err)
			}
			i = rnd.IntN(len(all))
			in, err := g.Instance(i)
			if err != nil || !reflect.DeepEqual(*in, all[i]) {
				t.Fatalf("seed %d: row %d alone is %v: %v; want %v", seed, i, in, err, all[i])
			}
		}
		for range 20 {
			pid := rnd.IntN(len(insts) + 1)
			tail := fmt.Sprint(pid)
			found := make(map[string]bool)
			sought := &Sought{Labels: []string{"pid"}, Traits: []Trait{{Ends: []Ending{{Value: uint64(pid), First: true}}}}}
			is := func(in *Instance, n *Naming) bool {
				first, _, _ := strings.Cut(n.Name, " ")
				for _, l := range n.Labels {
					if l.Name == "pid" {
						first = l.Value
					}
				}
				return strings.TrimLeft(first, "0") == tail
			}
			if rnd.IntN(2) == 0 {
				sought = &Sought{Traits: []Trait{{Frame: func(f string) bool { return strings.Contains(f, " ") },
					Ends: []Ending{{Value: uint64(pid), Mod: uint64(pow10(len(tail))), Before: " "}}}}}
				is = func(in *Instance, n *Naming) bool { return strings.Contains(n.Name, tail+" ") }
			}
			if err := groupOf(insts, blocks).Seek(sought, func(in *Instance) { found[in.Key] = true }); err != nil {
				t.Fatal(err)
			}
			for i := range all {
				for k := range all[i].Names {
					if is(&all[i], &all[i].Names[k]) && !found[all[i].Key] {
						t.Fatalf("seed %d: %v is not found as %s", seed, all[i], tail)
					}
				}
			}
		}
	}
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

// FuzzInstances decodes hostile instances.
func FuzzInstances(f *testing.F) {
	insts := someInstances(rand.New(rand.NewPCG(1, 2)), 400, 20)
	arranged := make([]Instance, len(insts))
	for i, n := range arrangement(insts) {
		arranged[i] = insts[n]
	}
	index, names, early, err := encodeInstances(nil, nil, arranged)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(index, names, encodeLives(nil, arranged, early, 20), uint16(len(insts)))
	f.Fuzz(func(t *testing.T, index, names, lives []byte, n uint16) {
		g := openedGroup(index, names, lives, int(n), 20)
		all, err := g.Instances()
		if err != nil {
			return
		}
		for i := range all {
			for _, r := range all[i].Runs {
				if r.Start >= r.End || r.End > 20 {
					t.Fatalf("row %d was there from %d to %d", i, r.Start, r.End)
				}
			}
		}
		for i := range min(len(all), 20) {
			row, err := g.Find(all[i].Key)
			if err != nil || row < 0 || all[row].Key != all[i].Key {
				t.Fatalf("%q is in row %d: %v", all[i].Key, row, err)
			}
		}
	})
}
