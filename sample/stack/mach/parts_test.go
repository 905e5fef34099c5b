package mach

import (
	"context"
	"testing"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// A look that takes long is followed by as long a rest. If it stops a process, the rest is
// longer. Looks that would have been due meanwhile are missed.
func TestPace(t *testing.T) {
	start := time.Now()
	p := newPace(10*time.Millisecond, time.Second, start)
	ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	for _, c := range []struct{ from, to, stopped, next int }{
		{0, 1, 0, 10},
		{10, 14, 0, 20},
		{20, 27, 0, 40},    // 7 ms, and 7 ms of rest
		{40, 100, 0, 160},  // 60 ms, and as many
		{160, 165, 3, 230}, // stopped for 3 ms of 62
	} {
		p.next = ms(c.from)
		p.rounds, p.missed = 0, 0
		if !p.due(context.Background()) {
			t.Fatal("not due")
		}
		p.done(ms(c.from), ms(c.to), time.Duration(c.stopped)*time.Millisecond)
		if !p.next.Equal(ms(c.next)) || p.missed != (c.next-c.from)/10-1 || p.rounds != p.missed+1 {
			t.Errorf("after a look from %d to %d ms: next at %v, %d of %d missed", c.from, c.to, p.next.Sub(start), p.missed, p.rounds)
		}
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if p.due(done) {
		t.Error("due after it was called off")
	}
	if p.next = ms(1000); p.due(context.Background()) {
		t.Error("due after the end")
	}
}

func TestDurations(t *testing.T) {
	var d durations
	if d.median() != 0 {
		t.Errorf("the median of nothing is %d", d.median())
	}
	for i := range 3 * kept {
		d.add(int64(i))
	}
	var s stack.Statistics
	d.count(&s)
	if s.Suspensions != d.n || s.Suspended != 3*kept*(3*kept-1)/2 || s.Longest != d.longest || s.Spread.String() != "10000:10001 20000:10000 50000:30000 100000:50000 200000:96607" {
		t.Errorf("%+v", s)
	}
	if d.n != 3*kept || d.longest != 3*kept-1 || len(d.last) != kept || d.median() != 2*kept+kept/2 {
		t.Errorf("%d, longest %d, median %d of %d", d.n, d.longest, d.median(), len(d.last))
	}
}

// If nobody ends a suspension, the guard ends it, once.
func TestGuard(t *testing.T) {
	var g guard
	resumed := make(chan port, 2)
	g.watch(func(token port) { resumed <- token })
	defer g.dismiss()
	for token := port(7); token < 9; token++ {
		held := g.hold(token)
		if got := <-resumed; got != token {
			t.Errorf("%d was resumed instead of %d", got, token)
		}
		if g.release(held) {
			t.Error("both end it")
		}
	}
	// The first of the two ends it.
	if held := g.hold(9); !g.release(held) && <-resumed != 9 {
		t.Error("another one was resumed")
	}
}

func TestRegisters(t *testing.T) {
	words := make([]uint32, armWords)
	for i := range words {
		words[i] = uint32(i)
	}
	var r chain.Registers
	at := func(i uint64) uint64 { return i | (i+1)<<32 }
	for name, want := range map[string]chain.Registers{
		"arm":        {FP: at(58), LR: at(60), SP: at(62), PC: at(64)},
		"translated": {FP: at(10), SP: at(8), PC: at(64)},
		"intel":      {FP: at(12), SP: at(14), PC: at(32)},
	} {
		if name == "intel" {
			intelRegisters(words, &r)
		} else {
			armRegisters(words, name == "translated", &r)
		}
		if r != want {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"com.apple.main-thread": "com.apple.main-thread",
		"Zürich":                "Zürich",
		"a\x1b[31mb\nc\x00":     "a\ufffd[31mb\ufffdc\ufffd",
		"cut \xc3":              "cut \ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
