package query_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// onCores opens a directory and answers with so many cores; the last lines of the
// answer are what could not be read, in an order that does not depend on the cores.
func onCores(t *testing.T, cores int, dir string, ask func(*store.Reader) string) string {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := ask(r)
	var lost []string
	for _, l := range r.Losses() {
		lost = append(lost, "lost: "+l.Path+" "+l.What+"\n")
	}
	slices.Sort(lost)
	return text + strings.Join(lost, "")
}

func changesText(list []*query.Change) string {
	s := ""
	for _, c := range list {
		s += fmt.Sprintln(c.Kind, c.Subject, c.Instance, c.Aspect, c.Before, c.After, c.OldText, c.NewText, c.At, c.Effect, c.Impact, c.Score, c.Related, c.Times)
		if c.Process != nil {
			s += fmt.Sprintln(c.Process.Name, c.Process.User, c.Process.Instance.Key, c.Process.Gains)
		}
		s += changesText(c.Also)
	}
	return s
}

func overviewText(o *query.Overview) string {
	if o == nil {
		return "nothing\n"
	}
	s := fmt.Sprintln(o.Host.ID, o.From, o.To, len(o.Breaks), len(o.Loops))
	for _, g := range o.Gauges {
		s += fmt.Sprintln(g.Name, g.Expr, g.Mean, g.Max, g.MaxAt, g.Last, g.Points)
	}
	return s + rankingText(o.CPU) + rankingText(o.Memory)
}

// Whether the parts of an answer are found one after the other or beside each other
// makes no difference to it, nor to what is said to be lost.
func TestPartsBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	c := storetest.NewCrowd(5, true, false)
	recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 300, 300), true)
	recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 100, 100), false) // live
	machine, err := os.ReadFile("../testdata/v2.machine.tacho")
	if err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	for n := len(machine) / 2; n+500 < len(machine); n += len(machine) / 5 {
		copy(machine[n:n+500], bytes.Repeat([]byte{7}, 500))
	}
	if err := os.WriteFile(filepath.Join(damaged, "m.tacho"), machine, 0o600); err != nil {
		t.Fatal(err)
	}
	lost := false
	for _, path := range []string{dir, "../testdata/v2.machine.tacho", "../testdata/v2.tacho", damaged} {
		rnd := rand.New(rand.NewPCG(1, 2))
		answer := func(r *store.Reader) string {
			text := ""
			for _, h := range r.Hosts() {
				from, to, _ := query.Covered(r, query.Window{Hosts: []string{h.ID}})
				for n := range proof.Pick(t, 4, 12) {
					middle := from + (to-from)/2
					a, b := query.Window{From: from, To: middle}, query.Window{From: middle, To: to}
					if n > 0 {
						length := rnd.Int64N((to - from) / 2)
						b.From = from + length + rnd.Int64N(to-from-2*length+1)
						b.To = b.From + length
						a.From, a.To = b.From-length, b.From
					}
					list, err := query.Diff(r, query.DiffRequest{Host: h.ID, A: a, B: b, All: n%2 == 1})
					text += fmt.Sprintln(h.ID, a, b, err) + changesText(list)
					o, err := query.OverviewOf(r, h.ID, b, 10, 5)
					text += fmt.Sprintln(err) + overviewText(o)
				}
			}
			return text
		}
		one := onCores(t, 1, path, answer)
		rnd = rand.New(rand.NewPCG(1, 2))
		if four := onCores(t, 4, path, answer); one != four {
			t.Errorf("%s: with one core\n%s\nwith four\n%s", path, one, four)
		}
		if len(one) < 500 {
			t.Errorf("%s: too little is said:\n%s", path, one)
		}
		lost = lost || strings.Contains(one, "lost: ")
	}
	if !lost {
		t.Error("nothing was lost")
	}
}

// A panic beside the caller is the caller's.
func TestPanicBeside(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r, err := store.Open("../testdata/v2.machine.tacho")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fine := func(query.Archive) error { return nil }
	fails := func(query.Archive) error { panic("mine") }
	for _, parts := range [][2]func(query.Archive) error{{fine, fails}, {fails, fine}, {fails, fails}} {
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("it panicked with %v", p)
				}
			}()
			_ = query.Beside(r, parts[0], parts[1])
		}()
	}
}
