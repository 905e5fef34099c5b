package proc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// The code that both kernels share is tested on a third one.

func expectRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestLivesOfAnyKernel(t *testing.T) {
	shapes(t, 2, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		r.expect(metric.Process)
		expectRows(t, r.rows("proc.psinfo.pid", "proc.psinfo.utime", "proc.psinfo.stime"), map[string]string{
			"1/1": "1 0 !unsupported", "2/2": "2 10 10"})
		k.people = append(k.people, &person{pid: 7, start: 9})
		r.expect(metric.Process, "000007 p7 started")
		k.execs[7] = "sorter"
		r.expect(metric.Process, "000007 sorter replaced p7 (exec)")
		r.expect(metric.Process)
		k.people[2] = &person{pid: 7, start: 10} // the pid is used again
		r.expect(metric.Process, "000007 p7 started", "000007 sorter ended")
		expectRows(t, r.rows("proc.nprocs", "proc.exited"), map[string]string{"": "3 1"})
	})
}

// What a process has used is read when it is met, for all processes before anything else is
// read. So all rows have one time.
func TestUseIsReadFirst(t *testing.T) {
	shapes(t, 100, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		r.expect(metric.Process)
		if k.met != 100 || k.early != 0 || k.loads["usage"] != 100 {
			t.Errorf("%d were met, and more was read of %d of them before the last was", k.met, k.early)
		}
	})
}

// The processes that used most before the last sweep are met first in the next one, once.
func TestBusiestAreMetFirst(t *testing.T) {
	shapes(t, 100, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		r.expect(metric.Process)
		for i, busy := range []int32{90, 40, 70} {
			k.person(busy).cpu += uint64(1000 - 100*i)
		}
		r.expect(metric.Process)
		k.order = nil
		r.expect(metric.Process)
		if len(k.order) != 100 || !slices.Equal(k.order[:4], []int32{90, 40, 70, 1}) {
			t.Errorf("%d were met, first of all %v", len(k.order), k.order[:4])
		}
		// No process used anything since, and one of them has ended.
		k.person(1).cpu++
		r.expect(metric.Process)
		k.people = slices.DeleteFunc(k.people, func(who *person) bool { return who.pid == 1 })
		k.order = nil
		r.expect(metric.Process, "000001 p1 ended")
		if len(k.order) != 99 || k.order[0] != 2 {
			t.Errorf("%d were met, first of all %v", len(k.order), k.order[:1])
		}
	})
}

func TestLastTotalsAreToldOnce(t *testing.T) {
	shapes(t, 2, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		r.expect(metric.Process)
		zombie, gone := k.people[0], k.people[1]
		zombie.zombie, zombie.last, gone.last = true, 77, 88
		k.people = k.people[:1]
		// The costly sweep meets them first, but has no columns for totals.
		r.expect(metric.Costly, "000002 p2 ended", "000001 p1 ended")
		r.expect(metric.Process)
		columns := []string{"proc.psinfo.cmd", "proc.psinfo.sname", "proc.psinfo.utime"}
		expectRows(t, r.rows(columns...), map[string]string{"2/2": "p2 S 77", "1/1": "p1 !vanished 88"})
		r.expect(metric.Process)
		expectRows(t, r.rows(columns...), map[string]string{"2/2": "p2 S 77"})
		k.people = nil
		r.expect(metric.Process)
		expectRows(t, r.rows(columns...), nil)
	})
}

func TestOnlyWhatIsWantedIsLoaded(t *testing.T) {
	shapes(t, 3, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		k.people[1].secret = true
		r.expect(metric.Process)
		if k.loads["descriptors"] != 0 || k.loads["usage"] != 3 || k.purpose != (purpose{states: true}) {
			t.Errorf("loaded %v for %+v", k.loads, k.purpose)
		}
		r.expect(metric.Costly)
		if k.loads["descriptors"] != 3 || k.loads["usage"] != 3 || k.purpose != (purpose{sockets: true}) {
			t.Errorf("loaded %v for %+v", k.loads, k.purpose)
		}
		expectRows(t, r.rows("proc.fd.count", "proc.net.udp_count"), map[string]string{
			"1/1": "3 2", "2/2": "!permission denied !permission denied", "3/3": "3 2"})
		if got := r.source.Notice(); !strings.HasPrefix(got, "1 of 3 processes are other users' and could not be read: secrets of theirs") {
			t.Errorf("notice %q", got)
		}
	})
}

func TestFailedListIsNoEnd(t *testing.T) {
	shapes(t, 2, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		for range 2 { // the first sweep, and a later one
			k.fails = errList
			if told, err := r.read(r.source, metric.Process, 0); !errors.Is(err, errList) || len(told) > 0 {
				t.Errorf("told %q, %v", told, err)
			}
			k.fails = nil
			r.expect(metric.Process)
			expectRows(t, r.rows("proc.nprocs", "proc.exited"), map[string]string{"": "2 0"})
		}
	})
}

func TestEachClassGoesOnWhereItStopped(t *testing.T) {
	const n = 5 * walkTogether
	shapes(t, n, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		var walks []string
		for _, class := range []metric.Class{metric.Process, metric.Costly, metric.Process, metric.Costly, metric.Process} {
			k.met = 0
			if told, err := r.read(r.source, class, 2); err != nil || len(told) > 0 {
				t.Errorf("told %q, %v", told, err)
			}
			if r.part != [2]int{2 * walkTogether, n} || k.met != 2*walkTogether {
				t.Errorf("%v were read, %d met", r.part, k.met)
			}
			in := r.frames[0].Block().Rows
			walks = append(walks, fmt.Sprintf("%s %s to %s", class, in[0].Label("pid"), in[len(in)-1].Label("pid")))
			if class == metric.Process {
				want := map[string]string{"": "160 96"}
				if got := r.rows("proc.nprocs", "proc.unread"); got[""] != want[""] {
					t.Errorf("counts %q", got[""])
				}
			}
		}
		const want = "process 1 to 64, costly 1 to 64, process 65 to 128, costly 65 to 128, process 129 to 32"
		if got := strings.Join(walks, ", "); got != want {
			t.Errorf("walks %s, want %s", got, want)
		}
		// A partial sweep does not say how many processes refuse to be read.
		k.people[3].secret = true
		if _, err := r.read(r.source, metric.Process, 1); err != nil || r.source.Notice() != "" {
			t.Errorf("notice %q, %v", r.source.Notice(), err)
		}
	})
}

func TestThreadsOfAnyKernel(t *testing.T) {
	shapes(t, 3, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		for i, who := range k.people {
			for id := range uint64(2) {
				who.threads = append(who.threads, uint64(10*(3-i))+id)
			}
		}
		threads := func(looks int64) map[string]string {
			t.Helper()
			if told, err := r.read(r.threads, metric.Thread, looks); err != nil || len(told) > 0 {
				t.Errorf("told %q, %v", told, err)
			}
			return r.rows("thread.tid", "thread.utime")
		}
		// If a kernel uses thread IDs again, the key has the start as well.
		key := func(owner string, id, start int) string {
			if k.fromList {
				return fmt.Sprintf("%s/%d", owner, id)
			}
			return fmt.Sprintf("%s/%d/%d", owner, id, start)
		}
		expectRows(t, threads(0), nil)
		set := r.threads.(interface{ SetOptions(Options) error }).SetOptions
		if err := set(Options{ThreadPattern: "p1", ThreadTopN: 1}); err != nil {
			t.Fatal(err)
		}
		expectRows(t, threads(0), map[string]string{
			key("1/1", 10, 0): "10 100", key("1/1", 11, 0): "11 110", key("3/3", 30, 0): "30 300", key("3/3", 31, 0): "31 310"})
		if !k.purpose.states {
			t.Error("nobody asked who is busy")
		}
		k.people[1].cpu += 5 // only this process used any
		expectRows(t, threads(0), map[string]string{
			key("1/1", 10, 0): "10 100", key("1/1", 11, 0): "11 110", key("2/2", 20, 0): "20 200", key("2/2", 21, 0): "21 210"})
		before := r.frames[0].Block().Rows[0].ID
		if k.lives[10] = 99; !k.fromList {
			if threads(0); r.frames[0].Block().Rows[0].ID == before || r.frames[0].Block().Rows[0].Key != key("1/1", 10, 99) {
				t.Errorf("another thread with the number is taken for the first: %+v", r.frames[0].Block().Rows[0])
			}
		}
		// More threads than one tick has time for.
		if err := set(Options{ThreadPattern: "*"}); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(100) {
			k.people[2].threads = append(k.people[2].threads, 1000+i)
		}
		seen := make(map[string]string)
		for _, want := range []int{threadsTogether, 106 - threadsTogether} {
			rows := threads(1)
			if len(rows) != want {
				t.Errorf("%d rows, want %d", len(rows), want)
			}
			maps.Copy(seen, rows)
		}
		if len(seen) != 106 {
			t.Errorf("%d threads were read in two ticks", len(seen))
		}
	})
}
