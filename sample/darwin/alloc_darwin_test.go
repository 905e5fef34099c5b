package darwin

import (
	"runtime"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
)

// Reading must not allocate once the buffers have their size.
func TestReadingDoesNotAllocate(t *testing.T) {
	sources, err := Sources(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		var frames []*sample.Frame
		for _, g := range s.Groups() {
			if f := sample.NewFrame(g, func(d *metric.Desc) bool { return d.Class != metric.Disabled }); f != nil {
				frames = append(frames, f)
			}
		}
		// With a clock that runs ahead, each reading is a new round.
		var ahead int64
		c := &sample.Context{Emit: func(metric.Event) {}, Now: func() metric.Stamp {
			at := Now()
			at.Cont += ahead
			return at
		}}
		read := func() {
			ahead += 2e9
			if err := s.Read(c, frames); err != nil {
				t.Errorf("%s: %v", s.Name(), err)
			}
		}
		read()
		if n := testing.AllocsPerRun(5, read); n > 0 {
			t.Errorf("%s allocates %.0f times per reading", s.Name(), n)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: %v", s.Name(), err)
		}
	}
}

// Other programs may use up the kernel's fresh answers of a second. Answers that the kernel
// then repeats are absent, and reading goes on.
func TestMemoryWhileOthersAsk(t *testing.T) {
	s := newMemorySource()
	defer s.Close()
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	f := sample.NewFrame(s.rows.Group, func(*metric.Desc) bool { return true })
	cell := func(name string) metric.Value {
		for i, d := range f.Block().Group.Metrics {
			if d.Name == name {
				return f.Block().Cols[i].At(d.Type, 0)
			}
		}
		t.Fatalf("no %s", name)
		return metric.Value{}
	}
	// Earlier tests have used up answers. Wait for the kernel's next second.
	time.Sleep(repeatWindow)
	words := make([]uint32, 38)
	for range 12 {
		if _, err := s.host.Statistics64(hostVMInfo64, words); err != nil {
			t.Fatal(err)
		}
	}
	others, _ := decode.VMFaults.Uint(decode.Words(nil, words))
	// The kernel's counters move with its clock: let them move, within the second whose
	// answers are used up.
	for start := Now().Cont; Now().Cont-start < 50e6; {
		runtime.Gosched()
	}
	if err := s.Read(&sample.Context{Now: Now}, []*sample.Frame{f}); err != nil {
		t.Fatal(err)
	}
	faults, compressions := cell("mem.pages.faults"), cell("mem.compressions")
	if faults.Miss != metric.Present || faults.Bits <= others {
		t.Errorf("faults %v (%s), others read %d before", faults, faults.Miss, others)
	}
	if compressions.Miss != metric.Stale {
		t.Errorf("an answer given to others passes for ours: compressions %v (%s)", compressions, compressions.Miss)
	}
}

// Cores have a label with their kind if the machine has several kinds.
func TestCoresAreLabelled(t *testing.T) {
	s := newCPUSource()
	defer s.Close()
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	f := sample.NewFrame(s.each.Group, func(*metric.Desc) bool { return true })
	if err := s.Read(&sample.Context{Now: Now}, []*sample.Frame{f}); err != nil {
		t.Fatal(err)
	}
	kinds := levels()
	for i, in := range f.Block().Rows {
		want := ""
		switch {
		case len(kinds) == 2 && i < kinds[1].cores:
			want = "Efficiency"
		case len(kinds) == 2:
			want = "Performance"
		}
		if got := in.Label("level"); got != want {
			t.Errorf("%s is a core of kind %q, want %q", in.Name, got, want)
		}
	}
}

// The interface MIB must give the same values one by one as all at once.
func TestInterfaceMIBOneByOne(t *testing.T) {
	bytes := func(from int) map[string]uint64 {
		s := newInterfaceSource(nil)
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		s.from = from
		f := sample.NewFrame(s.each.Group, func(*metric.Desc) bool { return true })
		if err := s.Read(&sample.Context{Now: Now, Emit: func(metric.Event) {}}, []*sample.Frame{f}); err != nil {
			t.Fatal(err)
		}
		counts := make(map[string]uint64)
		for row, in := range f.Block().Rows {
			for i, d := range f.Block().Group.Metrics {
				if v := f.Block().Cols[i].At(d.Type, row); d.Name == "network.interface.in.bytes" && v.Miss == metric.Present {
					counts[in.Name] = v.Bits
				}
			}
		}
		return counts
	}
	all, each := bytes(exactAll), bytes(exactEach)
	if len(all) == 0 || len(all) != len(each) {
		t.Fatalf("%d interfaces at once, %d one by one", len(all), len(each))
	}
	for name, n := range all {
		if each[name] < n {
			t.Errorf("%s: %d at once, then %d", name, n, each[name])
		}
	}
}
