package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/mend"
)

// keptFor is how long archives are kept.
const keptFor = 5 * 24 * time.Hour

// checkArchives expects every archive that was ever finished to verify, to be
// called by what it holds, and to be in the directory for as long as it is to
// be kept, no longer.
func checkArchives(t *testing.T, all, present string, slack time.Duration) {
	findings, err := mend.Verify(all, nil)
	if err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		t.Errorf("verify: %s", f)
	}
	r, err := store.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var end int64
	for _, a := range r.Archives() {
		end = max(end, a.To)
	}
	removed := 0
	for _, a := range r.Archives() {
		name := filepath.Base(a.Path)
		span, finished := strings.CutSuffix(name, layout.FinishedSuffix)
		if !finished {
			continue
		}
		from, to := time.Unix(0, a.From), time.Unix(0, a.To)
		head, tail, _ := strings.Cut(span, "--")
		const layout = "20060102T150405Z"
		began, err1 := time.Parse(layout, head[strings.LastIndexByte(head, '-')+1:])
		ended, err2 := time.Parse(layout, tail)
		// It is created before its first tick, and a night may fall between the
		// deadline of the last one and its readings.
		if err1 != nil || err2 != nil || began.Sub(from).Abs() > slack || ended.Sub(to).Abs() > slack {
			t.Errorf("%s holds %v to %v", name, from.UTC(), to.UTC())
		}
		_, err := os.Stat(filepath.Join(present, name))
		there, age := err == nil, time.Unix(0, end).Sub(to)
		if !there {
			removed++
		}
		// The directory is cleaned at rotations and starts, a day or a night apart.
		if there && age > keptFor+48*time.Hour || !there && age < keptFor-48*time.Hour {
			t.Errorf("%s is %v old, and there: %v; archives are kept for %v", name, age, there, keptFor)
		}
	}
	t.Logf("%d archives verify, %d of them were removed when their time was over", len(r.Archives()), removed)
}

// checkGrowth expects what the recorder says of itself not to grow in the
// course of its longest run.
func checkGrowth(t *testing.T, all string) {
	r, err := store.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"recorder.memory.resident", "recorder.memory.heap", "recorder.goroutines"} {
		byBoot, longest := make(map[string][]uint64), ""
		for run := range r.Select(store.Selection{Metrics: []string{name}}) {
			id := run.Archive.BootID
			byBoot[id] = append(byBoot[id], run.Bits...)
			if len(byBoot[id]) > len(byBoot[longest]) {
				longest = id
			}
		}
		v := byBoot[longest]
		if len(v) < 100 {
			continue
		}
		// The first third has the first finishing of an archive in it.
		early, late := median(v[len(v)/3:len(v)*2/3]), median(v[len(v)*2/3:])
		t.Logf("%s in the longest boot: %d, later %d", name, early, late)
		if late > early+early/4 {
			t.Errorf("%s grows from %d to %d", name, early, late)
		}
	}
}

// collectionsAMinute is how often the collector may run, in the mean over a boot:
// the recorder allocates little once its buffers have their size.
const collectionsAMinute = 2

// checkCollections expects the collector to rest.
func checkCollections(t *testing.T, all string) {
	r, err := store.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type reading struct {
		cont int64
		n    uint64
	}
	byBoot := make(map[string][]reading)
	for run := range r.Select(store.Selection{Metrics: []string{"recorder.collections"}}) {
		id := run.Archive.BootID
		for i, n := range run.Bits {
			byBoot[id] = append(byBoot[id], reading{run.Cont[i], n})
		}
	}
	if len(byBoot) == 0 {
		t.Error("no collections were counted")
	}
	for id, rs := range byBoot {
		first, last := rs[0], rs[len(rs)-1]
		took := time.Duration(last.cont - first.cont)
		t.Logf("boot %s: %d collections in %v", id, last.n-first.n, took.Round(time.Minute))
		if float64(last.n-first.n) > collectionsAMinute*took.Minutes() {
			t.Errorf("boot %s: %d collections in %v, more than %d a minute", id, last.n-first.n, took.Round(time.Minute), collectionsAMinute)
		}
	}
}

func median(v []uint64) uint64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// checkNights expects each sleep that was told to have lasted a night.
func (l *ledger) checkNights(night time.Duration) {
	for _, b := range l.boots {
		for _, e := range b.events {
			if e.Kind != metric.EventWake {
				continue
			}
			if from, to := span(&e); (time.Duration(to-from) - night).Abs() > time.Minute {
				l.t.Errorf("boot %s: a night of %v, not of %v", b.id, time.Duration(to-from), night)
			}
		}
	}
}

// descriptors counts what a process has open; 0 when it cannot be told.
func descriptors(pid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(list)
}

// checkDescriptors expects no more to be open at the end of a boot than in its
// middle. Of a boot that ends by a crash nothing can be told: the simulated Mac
// holds every file then of which it may have to take something back.
func (m *machine) checkDescriptors() {
	for n, open := range m.open {
		if len(open) < 100 || m.plan.ends[n] != "reboot" {
			continue
		}
		middle, late := slices.Max(open[len(open)/3:len(open)*2/3]), slices.Max(open[len(open)*2/3:])
		m.t.Logf("boot %d: %d descriptors open, later %d, host included", n, middle, late)
		if late > middle+5 {
			m.t.Errorf("boot %d: descriptors grew from %d to %d", n, middle, late)
		}
	}
}
