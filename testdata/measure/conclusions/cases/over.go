package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/testdata/measure/conclusions/overlay"
	"tachograph/testdata/measure/conclusions/sim"
)

// A Tape is a recording of a real machine that serves as noise.
type Tape struct {
	Name string
	tape *overlay.Tape
}

// Tapes reads the archives of a directory: files, or directories of recorders.
func Tapes(dir string) (list []*Tape, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	for _, path := range paths {
		if st, err := os.Stat(path); err != nil || !st.IsDir() && filepath.Ext(path) != ".tacho" {
			continue
		}
		t, err := overlay.Read(path)
		if err != nil {
			return nil, err
		}
		list = append(list, &Tape{"tape " + strings.TrimSuffix(filepath.Base(path), ".tacho"), t})
	}
	return list, nil
}

// Apart are kinds of trouble that change the machine as a whole, which is another machine if a
// tape is the noise.
var Apart = []string{"sleep", "clock step", "kernel thread", "throttled", "slab"}

// MakeOver makes a case with a trouble beside the recording of a real machine.
func MakeOver(set string, seed uint64, n int, kind string, t *Tape, dir string) (*Case, string, error) {
	c := newCase(set, seed, n, kind, t.Name)
	s := size(c.rnd)
	s.Cores = int(max(t.tape.Number("hinv.ncpu", ""), 1))
	s.MemoryMB, s.SwapMB = t.tape.Number("mem.physmem", "")/1024, t.tape.Number("swap.length", "")/(1<<20)
	for _, key := range t.tape.Keys("disk.dev.total") {
		if !strings.HasPrefix(key, "loop") {
			s.Disks[0].Name, s.Disks[1].Name = key, key+"2"
		}
	}
	for _, key := range t.tape.Keys("network.interface.in.packets") {
		if strings.HasPrefix(key, "e") {
			s.Nets[0].Name = key
		}
	}
	c.M = sim.New(s, c.rnd.Uint64())
	c.M.Since(t.tape.Begin.Wall-1e9, t.tape.Booted)
	c.M.Reserve(t.tape.Number("mem.physmem", "") - t.tape.Number("mem.util.available", ""))
	c.Seconds = t.tape.Seconds()
	if c.Seconds < 200 {
		return nil, "", fmt.Errorf("%s is too short", t.Name)
	}
	c.Onset = c.Seconds/4 + c.rnd.IntN(c.Seconds/3)
	c.Length = min(c.Length, c.Seconds-c.Onset-20)
	idle := func(*sim.Machine, int) {}
	path, err := c.record(dir, idle)
	if err != nil || kind == None {
		return c, path, err
	}
	over, err := overlay.Read(path)
	if err != nil {
		return nil, "", err
	}
	if err := os.Remove(path); err != nil {
		return nil, "", err
	}
	return c, path, overlay.Write(path, t.tape, over)
}
