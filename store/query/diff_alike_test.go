package query_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tachograph/store/query"
	"tachograph/store/storetest/proof"
)

// windows compares two windows of a busy machine, in seconds since it began.
func windows(t *testing.T, a query.Archive, from, to, length int64) *query.Differences {
	t.Helper()
	at := func(s int64) query.Window {
		return query.Window{From: (1_790_000_000 + s) * second, To: (1_790_000_000 + s + length) * second}
	}
	found, err := query.Compare(a, query.DiffRequest{Host: "h", A: at(from), B: at(to)})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// poll starts what looks for something again and again, what runs by the clock, and
// what works for minutes and pauses for minutes.
func poll(b *busy) {
	start := func(name string, seconds int64, cpu, mem float64) {
		w := b.start(name, b.at+seconds)
		w.cpu, w.mem = cpu, mem
	}
	if b.rnd.IntN(4) == 0 {
		start("sleep", int64(b.rnd.IntN(20)), 0, 6e5)
	}
	if b.rnd.IntN(40) == 0 {
		start("check", 10+int64(b.rnd.IntN(30)), 0.02, 3e6)
	}
	if b.at%600 == 120 {
		start("rotate", 40, 0.1, 1e7)
	}
	if phase := b.at % 420; phase < 200 && b.rnd.IntN(2) == 0 {
		start("compile", 10+int64(b.rnd.IntN(20)), 0.7, 8e7)
	}
}

// TestAlikeWindows compares pairs of windows of steady hours, in which names come and
// go, work by turns and pause: nothing has changed, and the largest difference is
// told.
func TestAlikeWindows(t *testing.T) {
	proof.Unraced(t)
	const archives = 5
	each := proof.Pick(t, 16, 40)
	rnd := rand.New(rand.NewPCG(27, 1))
	unlike, lines := 0, 0
	for seed := range uint64(archives) {
		b := newBusy(40+seed, nil)
		b.always, b.faster = poll, 20 // All comes round in a few minutes.
		a := b.run()
		for range each {
			length := []int64{300, 600, 900, 1200}[rnd.IntN(4)]
			from := 1800 + rnd.Int64N(busySeconds-1800-2*length)
			to := from + length + rnd.Int64N(busySeconds-from-2*length)
			found := windows(t, a, from, to, length)
			if len(found.Changes) > 0 {
				unlike++
				lines += len(found.Changes)
				t.Logf("seed %d, %d s from %d and from %d:%s", seed, length, from, to, told(found.Changes))
			} else if found.Largest == nil {
				t.Errorf("seed %d, %d s from %d and from %d: no largest difference", seed, length, from, to)
			}
		}
	}
	if unlike > 0 {
		t.Errorf("%d lines in %d of %d pairs of like windows", lines, unlike, archives*each)
	}
}

// TestATenthIsFound injects a tenth of a resource, somewhere in hours like those: it
// stands in the first three lines.
func TestATenthIsFound(t *testing.T) {
	proof.Unraced(t)
	type injection struct {
		name string
		do   func(b *busy, now bool)
		want []string
	}
	kinds := []injection{
		{"processors, by who is new", func(b *busy, now bool) {
			if now {
				b.start("burner", 1<<62).cpu = 0.4
			}
		}, []string{"burner"}},
		{"processors, by who was there", func(b *busy, now bool) {
			if now {
				b.workers[1].cpu += 0.4
			}
		}, []string{"daemon1"}},
		{"processors, by many that come and go", func(b *busy, _ bool) { b.start("storm", b.at+busyStep-1).cpu = 0.4 }, []string{"storm", "kernel.all.cpu.user"}},
		{"memory", func(b *busy, now bool) {
			if now {
				b.workers[2].mem += 1.8e9
			}
		}, []string{"daemon2", "mem.util.used"}},
		{"a volume", func(b *busy, _ bool) { b.values["full"] = min(b.values["full"]+0.5, 12) }, []string{"filesys.full"}},
		{"what is written", func(b *busy, now bool) {
			if now {
				b.workers[4].write += 2e7
			}
		}, []string{"daemon4", "disk.all.write_bytes"}},
		{"a service less", func(b *busy, now bool) {
			if now {
				b.workers[3].until = b.at
			}
		}, []string{"daemon3"}},
	}
	rnd := rand.New(rand.NewPCG(27, 2))
	tried, found := 0, 0
	for seed := range uint64(14) {
		k := kinds[int(seed)%len(kinds)]
		onset := busyStep * (300 + rnd.Int64N(300))
		b := newBusy(70+seed, nil)
		b.faster = 20
		b.workers[3].cpu = 0.4
		b.always = func(b *busy) {
			poll(b)
			if b.at >= onset {
				k.do(b, b.at == onset)
			}
		}
		a := b.run()
		for _, length := range []int64{300, 600, 1200} {
			shift := rnd.Int64N(60) - 30
			list := windows(t, a, onset-length-rnd.Int64N(600), onset+shift, length).Changes
			tried++
			if slices.ContainsFunc(list[:min(3, len(list))], func(c *query.Change) bool { return slices.Contains(k.want, c.Subject) }) {
				found++
			} else {
				t.Logf("%s, seed %d, %d s:%s", k.name, seed, length, told(list))
			}
		}
	}
	t.Logf("%d of %d found", found, tried)
	if 100*found < 95*tried {
		t.Errorf("%d of %d found", found, tried)
	}
}
