package linux

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// told is a tree and the sentences that its events had.
type told struct {
	*groupTree
	events *[]metric.Event
}

func newTold(t *testing.T, files map[string]string) told {
	events := new([]metric.Event)
	x := told{newGroupTree(t, events, files), events}
	x.read()
	return x
}

// expect compares the sentences since the last call.
func (x told) expect(want ...string) {
	x.Helper()
	var got []string
	for _, e := range *x.events {
		if e.Kind != metric.EventOwner || e.Indom != "cgroup" || e.Label("what") == "" {
			x.Errorf("%+v", e)
		}
		got = append(got, e.Text)
	}
	if !slices.Equal(got, want) {
		x.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	*x.events = nil
}

// processes reads what is read every few seconds.
func (x told) processes() {
	x.Helper()
	var frames []*sample.Frame
	for _, group := range x.g.Groups() {
		if f := sample.NewFrame(group, func(d *metric.Desc) bool { return d.Class == metric.Process }); f != nil {
			frames = append(frames, f)
		}
	}
	if err := x.g.Read(x.c, frames); err != nil {
		x.Error(err)
	}
}

func TestOwnersComeAndGo(t *testing.T) {
	x := newTold(t, map[string]string{"system.slice/a.service/cpu.stat": "usage_usec 1\n", "system.slice/a.service/part/cpu.stat": "usage_usec 1\n"})
	x.write("system.slice/b.service/cpu.stat", "usage_usec 1\n")
	x.write("system.slice/b.service/part/cpu.stat", "usage_usec 1\n")
	x.write("system.slice/short.scope/cpu.stat", "usage_usec 1\n")
	x.write("other.slice/cpu.stat", "usage_usec 1\n")
	x.write("odd/cpu.stat", "usage_usec 1\n")
	x.reads()
	x.remove("/system.slice/short.scope")
	x.expect()
	x.reads()
	x.expect("b.service started")
	x.remove("/system.slice/a.service")
	x.write("system.slice/a.service/cpu.stat", "usage_usec 1\n")
	x.read()
	x.expect("a.service was restarted")
	x.remove("/system.slice/b.service")
	x.reads()
	x.expect("b.service ended")
	x.write("system.slice/b.service/cpu.stat", "usage_usec 1\n")
	x.reads()
	x.expect("b.service was restarted")

	// What happens again and again has no event each time.
	for range 6 {
		x.remove("/system.slice/a.service")
		x.write("system.slice/a.service/cpu.stat", "usage_usec 1\n")
		x.read()
	}
	x.expect("a.service was restarted", "a.service was restarted", "a.service was restarted; it happens again and again, and is not reported for an hour")
}

// Many owners that come at once do not have an event each.
func TestManyOwnersCome(t *testing.T) {
	x := newTold(t, map[string]string{"system.slice/a.service/cpu.stat": "usage_usec 1\n"})
	for i := range 40 {
		x.write(fmt.Sprintf("system.slice/run-%d.scope/cpu.stat", i), "usage_usec 1\n")
	}
	for range 9 {
		x.reads()
	}
	events := *x.events
	if len(events) != 11 {
		t.Errorf("%d events", len(events))
	}
	if last := events[len(events)-1]; last.Text != "30 more owners came and 0 went, too many for an event each" || last.Label("came") != "30" {
		t.Errorf("%+v", last)
	}
}

func TestKilledInGroups(t *testing.T) {
	killed := func(oom, kills int) string { return fmt.Sprintf("max 0\noom %d\noom_kill %d\n", oom, kills) }
	const backup, web = "system.slice/backup.service/", "system.slice/web.service/"
	x := newTold(t, map[string]string{
		"system.slice/memory.events": killed(0, 2), "system.slice/memory.max": "2147483648\n",
		backup + "memory.events": killed(0, 2), backup + "memory.max": "536870912\n",
		web + "memory.events": killed(0, 0), web + "memory.max": "max\n",
	})
	x.read()
	x.expect() // what was before
	both := func(name string, slice, service string) {
		x.write("system.slice/memory.events", slice)
		x.write(name+"memory.events", service)
		x.read()
	}
	both(backup, killed(1, 3), killed(1, 3))
	x.expect("backup.service: the kernel killed 1 process at its memory limit of 512 MB")
	// The group above is read before the one below, and may show it later.
	x.write(backup+"memory.events", killed(2, 5))
	x.read()
	x.expect("backup.service: the kernel killed 2 processes at its memory limit of 512 MB")
	x.write("system.slice/memory.events", killed(2, 5))
	x.read()
	x.expect()
	both(web, killed(3, 6), killed(0, 1))
	x.expect("web.service: the kernel killed 1 process at the memory limit of system.slice, 2 GB")
	both(web, killed(3, 7), killed(0, 2))
	x.expect("web.service: the kernel killed 1 process for lack of memory")

	// Its limit is known before a minute is over.
	x.write("system.slice/new.service/memory.max", "1048576\n")
	x.write("system.slice/new.service/memory.events", killed(0, 0))
	for range 40 {
		x.processes()
	}
	x.write("system.slice/memory.events", killed(4, 8))
	x.write("system.slice/new.service/memory.events", killed(1, 1))
	x.processes()
	x.expect("new.service started", "new.service: the kernel killed 1 process at its memory limit of 1 MB")

	// It ends with its last process. Only the group above still counts that.
	x.remove("/system.slice/backup.service")
	x.write("system.slice/memory.events", killed(5, 9))
	x.read()
	if e := (*x.events)[0]; e.Key != "/system.slice/backup.service" || e.Label("service") != "backup.service" || e.Label("count") != "1" || e.Label("limit") != "536870912" {
		t.Errorf("%+v", e)
	}
	x.expect("backup.service: the kernel killed 1 process at its memory limit of 512 MB, and it ended")
	x.read()
	x.expect("backup.service ended")
}

func TestGroupsHeldBack(t *testing.T) {
	const web = "web.slice/web.service/"
	x := newTold(t, map[string]string{web + "cpu.max": "50000 100000\n", web + "cpu.stat": "nr_periods 0\nnr_throttled 0\n"})
	periods, throttled := 0, 0
	minute := func(part int) {
		for range 70 {
			periods, throttled = periods+10, throttled+part
			x.write(web+"cpu.stat", fmt.Sprintf("nr_periods %d\nnr_throttled %d\n", periods, throttled))
			x.read()
		}
	}
	minute(1)
	x.expect()
	minute(8)
	minute(8)
	x.expect("web.service was held back by its quota of 50 % of a processor, which it used up in " + (*x.events)[0].Label("percent") + " % of the periods of a minute")
	minute(0)
	minute(0)
	if len(*x.events) != 1 || !strings.HasPrefix((*x.events)[0].Text, "web.service is no longer held back by its quota, after ") || (*x.events)[0].Label("seconds") == "" {
		t.Errorf("%+v", *x.events)
	}
}

func TestLimitsOfGroups(t *testing.T) {
	const web = "web.slice/web.service/"
	x := newTold(t, map[string]string{web + "cpu.max": "max 100000\n", web + "memory.max": "536870912\n", web + "pids.max": "max\n"})
	x.read()
	x.write(web+"cpu.max", "150000 100000\n")
	x.write(web+"memory.max", "1610612736\n")
	x.read()
	x.expect("web.service: its quota is 150 % of a processor now, before that none", "web.service: its memory limit is 1.5 GB now, before that 512 MB")
	x.write(web+"pids.max", "100\n")
	x.write(web+"memory.max", "max\n")
	x.read()
	x.expect("web.service: its memory limit is none now, before that 1.5 GB", "web.service: its limit of threads is 100 now, before that none")
}
