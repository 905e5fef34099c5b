package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// owned is what else is recorded for tests of owners: processes that belong to somebody, and
// control groups.
const ownedMetrics = `metric proc.owner.service string discrete process process
metric cgroup.cpusched.periods u64 counter cgroup process
metric cgroup.cpusched.throttled u64 counter cgroup process
metric cgroup.cpusched.cfs_quota i64 instant cgroup process microsec
metric cgroup.cpusched.cfs_period u64 instant cgroup process microsec
metric proc.cpu.runnable_time u64 counter process process nanosec
instance cgroup /system.slice /system.slice inner=yes
instance cgroup /system.slice/postgres.service /system.slice/postgres.service service=postgres.service
instance cgroup /system.slice/docker-4f.scope /system.slice/docker-4f.scope service=docker-4f.scope container=web`

// member is a process of a test, with the owner that its labels name and what it does before and
// in the trouble.
type member struct {
	name, owner   string
	before, after float64 // percent of a core
	held, grown   float64 // KB, and KB a second
}

// members returns the description of some processes, and what they do.
func members(list []member) (lines []string, all []does, trouble map[string]string) {
	trouble = make(map[string]string)
	lines, all = strings.Split(ownedMetrics, "\n"), slices.Clone(quiet)
	busy := 20.0
	for i, m := range list {
		key := fmt.Sprint(200 + i)
		lines = append(lines, fmt.Sprintf("instance process %s 000%s %s pid=%s parent=1 start=2026-11-20T02:20:00Z uid=0 %s", key, key, m.name, key, m.owner))
		busy += m.after
		for metric, forms := range map[string][2]string{
			"proc.psinfo.utime": {fmt.Sprintf("rate=%g noise=0.05", m.before*1e7), fmt.Sprintf("rate=%g noise=0.05", m.after*1e7)},
			"proc.psinfo.stime": {"rate=1000000", "rate=1000000"},
			"proc.memory.rss":   {fmt.Sprintf("level=%g", m.held), fmt.Sprintf("level=%g drift=%g", m.held, m.grown)},
		} {
			name := fmt.Sprintf("%s[%s]", metric, key)
			all = append(all, does{"process", "5s", name, forms[0]})
			trouble[name] = forms[1]
		}
	}
	trouble["kernel.all.cpu.user"] = fmt.Sprintf("rate=%g noise=0.05", min(busy, 190)*10)
	return lines, all, trouble
}

// many returns so many processes that do the same; %d in their name is the number.
func many(n int, m member) (list []member) {
	for i := range n {
		one := m
		if strings.Contains(m.name, "%d") {
			one.name = fmt.Sprintf(m.name, i)
		}
		list = append(list, one)
	}
	return list
}

// The cause is the owner where many of its processes together did what none of them did alone,
// and nothing is said twice.
func TestOwners(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []member
		first   string   // what line 1 begins with
		says    []string // and what it says besides
		never   []string // what no line says
	}{
		{"one process", []member{{name: "python3", owner: "service=backup.service", after: 95, held: 4000}},
			"python3 (pid 200) in backup.service used 9", nil, nil},
		{"its name says as much", []member{{name: "nginx", owner: "service=nginx.service", after: 95, held: 4000}},
			"nginx (pid 200) used 9", nil, []string{".service"}},
		{"an app", many(4, member{name: "helper%d", owner: "app=Safari", before: 1, after: 40, held: 4000}),
			"Safari (4 processes) used 1", []string{" of a core from 03:09:56"}, []string{"helper", "together"}},
		{"an app of one name", many(6, member{name: "chrome", owner: "app=Chromium", before: 1, after: 29, held: 4000}),
			"Chromium (6 processes) used 17", nil, []string{"called chrome"}},
		{"one process of an app", append(many(4, member{name: "helper%d", owner: "app=Safari", before: 1, after: 3, held: 4000}),
			member{name: "renderer", owner: "app=Safari", before: 1, after: 96, held: 4000}),
			"renderer (pid 204) of Safari used 9", nil, []string{"Safari ("}},
		{"a container", many(5, member{name: "w%d", owner: "service=docker-4f.scope container=web", before: 1, after: 35, held: 4000}),
			"container web (5 processes) used 17", nil, []string{"docker"}},
		{"one of two services", append(many(5, member{name: "python3", owner: "service=backup.service", before: 1, after: 35, held: 4000}),
			many(5, member{name: "python3", owner: "service=web.service", before: 1, after: 1, held: 4000})...),
			"backup.service (5 processes) used 17", nil, []string{"called python3"}},
		{"several services alike", append(many(3, member{name: "python3", owner: "service=backup.service", before: 1, after: 29, held: 4000}),
			many(3, member{name: "python3", owner: "service=web.service", before: 1, after: 29, held: 4000})...),
			"6 processes called python3 used 17", []string{"together"}, []string{"backup.service (", "web.service ("}},
		{"a name in a session", many(6, member{name: "cc1", owner: "session=pts/4", before: 1, after: 29, held: 4000}),
			"6 processes called cc1 in terminal pts/4 used 17", nil, []string{"terminal pts/4 ("}},
		{"names in a session", many(6, member{name: "step%d", owner: "session=pts/4", before: 1, after: 29, held: 4000}),
			"terminal pts/4 (6 processes) used 17", nil, []string{"step"}},
		{"memory of an app", many(4, member{name: "helper%d", owner: "app=Safari", before: 1, after: 2, held: 300000, grown: 9000}),
			"Safari (4 processes) grew from 1.", []string{" GB to ", " GB, ", " of all memory"}, []string{"helper", "together"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, all, trouble := members(c.members)
			a := recording(t, all, trouble, lines...)
			for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}} {
				answer := ask(t, a, r)
				first := answer.Lines[0].Text
				if !strings.HasPrefix(first, c.first) {
					t.Errorf("%s: %s", how, first)
				}
				for _, says := range c.says {
					if !strings.Contains(first, says) {
						t.Errorf("%s: no %q in %q", how, says, first)
					}
				}
				for _, l := range answer.Lines {
					for _, never := range c.never {
						if strings.Contains(l.Text, never) {
							t.Errorf("%s: %q in %q", how, never, l.Text)
						}
					}
				}
			}
		})
	}
}

// A control group that was held back is named by its owner, with its quota; a group with others
// below it is not.
func TestQuotas(t *testing.T) {
	postgres := member{name: "postgres", owner: "service=postgres.service", before: 5, after: 5, held: 4000}
	other := member{name: "python3", owner: "service=backup.service", before: 5, after: 5, held: 4000}
	for _, c := range []struct {
		name      string
		throttled string // what the throttled metric of a group does in the trouble
		quota     string // of it, in microseconds of 100 000
		member    member
		waits     float64 // percent of the time that the process waits for a processor
		first     string
		says      []string
		never     []string
	}{
		{"a service", "/system.slice/postgres.service", "50000", postgres, 0, "postgres.service was throttled 72 % of the time by its quota of 50 % from 03:10:0", nil, []string{"control group"}},
		{"a container", "/system.slice/docker-4f.scope", "150000", other, 0, "container web was throttled 72 % of the time by its quota of 150 %", nil, []string{"docker"}},
		{"with its process", "/system.slice/postgres.service", "50000", postgres, 60, "postgres.service was throttled 72 % of the time by its quota of 50 %",
			[]string{"; postgres (pid 200) was ready to run and kept waiting 60 % of the time"}, nil},
		{"with a process of another service", "/system.slice/postgres.service", "50000", other, 60, "postgres.service was throttled 72 % of the time by its quota of 50 %",
			nil, []string{"quota of 50 %; python3", "idle; postgres.service"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, all, trouble := members([]member{c.member})
			for _, group := range []string{"/system.slice", "/system.slice/postgres.service", "/system.slice/docker-4f.scope"} {
				throttled := fmt.Sprintf("cgroup.cpusched.throttled[%s]", group)
				all = append(all, does{"process", "5s", fmt.Sprintf("cgroup.cpusched.periods[%s]", group), "rate=10"}, does{"process", "5s", throttled, "rate=0.5"},
					does{"process", "5s", fmt.Sprintf("cgroup.cpusched.cfs_quota[%s]", group), c.quota}, does{"process", "5s", fmt.Sprintf("cgroup.cpusched.cfs_period[%s]", group), "100000"})
				if strings.HasPrefix(c.throttled, group) {
					trouble[throttled] = "rate=7.2"
				}
			}
			all = append(all, does{"process", "5s", "proc.cpu.runnable_time[200]", "rate=1000000"})
			if c.waits > 0 {
				trouble["proc.cpu.runnable_time[200]"] = fmt.Sprintf("rate=%g", c.waits*1e7)
			}
			answer := ask(t, recording(t, all, trouble, lines...), Request{Window: window})
			first := answer.Lines[0].Text
			if !strings.HasPrefix(first, c.first) {
				t.Error(first)
			}
			for _, says := range c.says {
				if !strings.Contains(first, says) {
					t.Errorf("no %q in %q", says, first)
				}
			}
			for _, l := range answer.Lines {
				for _, never := range append(c.never, "/system.slice ") {
					if strings.Contains(l.Text, never) {
						t.Errorf("%q in %q", never, l.Text)
					}
				}
			}
		})
	}
}
