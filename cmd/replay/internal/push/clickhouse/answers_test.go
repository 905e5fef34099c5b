package clickhouse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/store"
	"tachograph/store/query"
)

// asked are the archives of a fleet, of which replay's own queries are asked what
// those of docs/fleet/clickhouse are asked of ClickHouse.
type asked struct {
	t    testing.TB
	r    *store.Reader
	name map[string]string // of a host
	// began are when processes began, where that is known: by host, boot and key.
	began map[[3]string]int64
}

// A point is a value of a series: in its base unit, and as it was read.
type point struct {
	wall  int64
	value float64
	bits  uint64
}

type seriesKey struct{ host, boot, metric, instance, name string }

// read are the values of metrics in a window, by series.
func (a *asked) read(from, to time.Time, metrics ...string) map[seriesKey][]point {
	a.t.Helper()
	all := make(map[seriesKey][]point)
	w := query.Window{From: from.UnixNano(), To: to.UnixNano() - 1}
	for s, err := range query.Read(a.r, query.Request{Window: w, Metrics: metrics, Mode: query.Raw}) {
		if err != nil {
			a.t.Fatal(err)
		}
		own := naming.Own(s.Metric)
		scale := own.Sources[0].Scale(s.Metric)
		k := seriesKey{s.Archive.Host.ID, s.Archive.BootID, s.Name, "", ""}
		if s.Instance != nil {
			k.instance, k.name = s.Instance.Key, s.Instance.Name
			if s.Metric.Indom == processDomain {
				k.name = query.ProcessName(s.Instance)
				a.began[[3]string{k.host, k.boot, k.instance}] = s.Instance.Began()
			}
		}
		for i, wall := range s.Wall {
			v := s.Value(i)
			if v.Miss == 0 && wall >= w.From && wall <= w.To {
				all[k] = append(all[k], point{wall, scale.Of(naming.Number(v)), v.Bits})
			}
		}
	}
	return all
}

var yesterday, tomorrow = fleetToday.AddDate(0, 0, -1), fleetToday

// rows are lines of a table, sorted by numbers and words, as ClickHouse prints them.
type rows [][]string

func (r *rows) add(cells ...any) {
	line := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case float64:
			line[i] = strconv.FormatFloat(c, 'f', -1, 64)
		default:
			line[i] = fmt.Sprint(c)
		}
	}
	*r = append(*r, line)
}

// sorted sorts by columns: "-2" is the third, the largest number first; "1" the second as a text.
func (r rows) sorted(limit int, by ...string) string {
	slices.SortFunc(r, func(x, y []string) int {
		for _, b := range by {
			n, falling := strings.CutPrefix(b, "-")
			n, rising := strings.CutPrefix(n, "+")
			i, _ := strconv.Atoi(n)
			if !falling && !rising {
				if c := cmp.Compare(x[i], y[i]); c != 0 {
					return c
				}
				continue
			}
			p, _ := strconv.ParseFloat(x[i], 64)
			q, _ := strconv.ParseFloat(y[i], 64)
			if falling {
				p, q = q, p
			}
			if c := cmp.Compare(p, q); c != 0 {
				return c
			}
		}
		return 0
	})
	var b strings.Builder
	for _, line := range r[:min(limit, len(r))] {
		b.WriteString(strings.Join(line, "\t") + "\n")
	}
	return b.String()
}

func rounded(x float64, digits int) float64 {
	p := math.Pow(10, float64(digits))
	return math.Round(x*p) / p
}

// answers are what replay says to each question, as the lines that ClickHouse should give.
func (a *asked) answers() map[string]string {
	all := make(map[string]string)
	var r rows
	take := func(name string, limit int, by ...string) {
		all[name+".sql"], r = r.sorted(limit, by...), nil
	}

	type minutes struct{ busy, short, slow map[int64]bool }
	waited := make(map[string]*minutes)
	cpus := make(map[string]float64)
	for k, points := range a.read(yesterday.AddDate(0, 0, -7), tomorrow, "hinv.ncpu") {
		cpus[k.host] = points[len(points)-1].value
	}
	for k, points := range a.read(yesterday, tomorrow, "kernel.all.load", "kern.memorystatus_vm_pressure_level") {
		m := waited[k.host]
		if m == nil {
			m = &minutes{make(map[int64]bool), make(map[int64]bool), make(map[int64]bool)}
			waited[k.host] = m
		}
		for _, p := range points {
			switch minute := p.wall / 60e9; {
			case k.metric == "kernel.all.load" && k.name == "1 minute" && p.value > 2*cpus[k.host]:
				m.busy[minute], m.slow[minute] = true, true
			case k.metric != "kernel.all.load" && p.value >= 2:
				m.short[minute], m.slow[minute] = true, true
			}
		}
	}
	for host, m := range waited {
		if len(m.slow) > 0 {
			r.add(a.name[host], host, len(m.busy), len(m.short), len(m.slow))
		}
	}
	take("slowest-yesterday", 20, "-4", "1")

	type heat struct {
		sum, highest float64
		n, above     int
		throttled    map[int64]bool
	}
	heats := make(map[string]*heat)
	for k, points := range a.read(yesterday, tomorrow, "thermal.cpu.die", "thermal.pressure.level") {
		h := heats[k.host]
		if h == nil {
			h = &heat{throttled: make(map[int64]bool)}
			heats[k.host] = h
		}
		for _, p := range points {
			if k.metric != "thermal.cpu.die" {
				if p.value >= 1 {
					h.throttled[p.wall/60e9] = true
				}
				continue
			}
			h.sum, h.n, h.highest = h.sum+p.value, h.n+1, max(h.highest, p.value)
			if p.value >= 95 {
				h.above++
			}
		}
	}
	for host, h := range heats {
		r.add(a.name[host], host, rounded(h.sum/float64(h.n), 1), h.highest, rounded(100*float64(h.above)/float64(h.n), 1), len(h.throttled))
	}
	take("hot", 20, "-2", "1")

	pages, over := make(map[string]float64), make(map[string]float64)
	for k, points := range a.read(yesterday, tomorrow, "swap.pagesout") {
		if n := points[len(points)-1].value - points[0].value; n > 0 {
			pages[k.host] += n
			over[k.host] += float64(points[len(points)-1].wall-points[0].wall) / 1e9
		}
	}
	for host, n := range pages {
		r.add(a.name[host], host, n, rounded(n/over[host], 1))
	}
	take("swapping", 20, "-2", "1")

	for k, points := range a.read(yesterday, tomorrow, "filesys.full") {
		first, last := points[0], points[len(points)-1]
		day := 100 * (last.value - first.value) / float64(last.wall-first.wall) * 86400e9
		full := 100 * last.value
		if full >= 90 || day > 0 && full+7*day >= 100 {
			left := -1.0
			if day > 0 {
				left = (100 - full) / day
			}
			r.add(a.name[k.host], k.host, k.name, rounded(full, 1), rounded(day, 2), rounded(left, 1))
		}
	}
	take("disks-filling", 100, "-3", "1", "2")

	type loop struct{ machines, ended, failed int }
	loops := make(map[string]*loop)
	for _, run := range query.CrashLoops(a.r, query.Window{From: yesterday.UnixNano(), To: tomorrow.UnixNano() - 1}) {
		l := loops[run.Name]
		if l == nil {
			l = new(loop)
			loops[run.Name] = l
		}
		l.machines, l.ended, l.failed = l.machines+1, l.ended+run.Count, l.failed+run.Failed
	}
	for name, l := range loops {
		r.add(name, l.machines, l.ended, l.failed, "['signal 11']")
	}
	take("crash-loops", 50, "-1", "-3", "0")

	health, cycles := make(map[string]float64), make(map[string]float64)
	for k, points := range a.read(yesterday, tomorrow, "power.battery.health") {
		health[k.host] = rounded(100*points[len(points)-1].value, 1)
	}
	for k, points := range a.read(yesterday, tomorrow, "power.battery.cycle_count") {
		cycles[k.host] = points[len(points)-1].value
	}
	for host, h := range health {
		if h < 80 && h > 0 || cycles[host] >= 1000 {
			r.add(a.name[host], host, h, cycles[host])
		}
	}
	take("batteries", 1000, "+2", "1")

	type hour struct {
		host string
		at   int64
	}
	idle, total := make(map[hour]float64), make(map[hour]float64)
	for k, points := range a.read(yesterday, tomorrow, "kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice", "kernel.all.cpu.idle") {
		if !strings.HasPrefix(a.name[k.host], "build") {
			continue
		}
		first, last := make(map[hour]uint64), make(map[hour]uint64)
		for _, p := range points {
			h := hour{k.host, p.wall / 3600e9}
			if _, ok := first[h]; !ok {
				first[h] = p.bits
			}
			last[h] = p.bits
		}
		for h := range first {
			gained := float64(last[h] - first[h])
			total[h] += gained
			if k.metric == "kernel.all.cpu.idle" {
				idle[h] += gained
			}
		}
	}
	type used struct {
		idle, hours int
		busy        float64
	}
	builders := make(map[string]*used)
	for h, n := range total {
		if n == 0 {
			continue
		}
		u := builders[h.host]
		if u == nil {
			u = new(used)
			builders[h.host] = u
		}
		busy := 1 - idle[h]/n
		u.hours++
		u.busy += busy
		if busy < 0.05 {
			u.idle++
		}
	}
	for host, u := range builders {
		r.add(a.name[host], host, u.idle, u.hours, rounded(100*u.busy/float64(u.hours), 1))
	}
	take("idle-builders", 50, "-2", "1")

	last := make(map[string]int64)
	for _, info := range a.r.Archives() {
		last[info.Host.ID] = max(last[info.Host.ID], info.To)
	}
	for host, at := range last {
		if at < fleetToday.Add(-time.Hour).UnixNano() {
			r.add(a.name[host], host, time.Unix(0, at).UTC().Format("2006-01-02 15:04:05"))
		}
	}
	take("silent", 1000, "2", "1")

	a.programs(&r, take)
	return all
}

// programs are the questions about processes.
func (a *asked) programs(r *rows, take func(string, int, ...string)) {
	const utime, stime = "proc.psinfo.utime", "proc.psinfo.stime"
	type life struct{ host, boot, key, name string }
	total := make(map[life]map[int64]float64) // seconds of processor time at each reading
	for k, points := range a.read(fleetBegan, tomorrow, utime, stime) {
		l := life{k.host, k.boot, k.instance, k.name}
		if total[l] == nil {
			total[l] = make(map[int64]float64)
		}
		for _, p := range points {
			total[l][p.wall] += p.value
		}
	}
	// gain is what a life used from one instant to another, and the time that was seen of
	// it: of one that began in between from its beginning.
	gain := func(l life, from, to time.Time) (used, seconds float64) {
		at := total[l]
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for wall := range at {
			if wall >= from.UnixNano() && wall < to.UnixNano() {
				first, last = min(first, wall), max(last, wall)
			}
		}
		if last < first {
			return 0, 0
		}
		if born := a.began[[3]string{l.host, l.boot, l.key}]; born >= from.UnixNano() {
			return at[last], float64(last-born) / 1e9
		}
		return at[last] - at[first], float64(last-first) / 1e9
	}
	type program struct {
		hosts                     map[string]float64
		processes                 int
		before, after, bsec, asec float64
		updated                   map[string]bool
	}
	programs := make(map[string]*program)
	versions := make(map[string]map[string]time.Time)
	for _, info := range a.r.Archives() {
		if versions[info.Host.ID] == nil {
			versions[info.Host.ID] = make(map[string]time.Time)
		}
		v, at := info.Host.Release+" "+info.Host.Label("product"), time.Unix(0, info.From)
		if old, ok := versions[info.Host.ID][v]; !ok || at.Before(old) {
			versions[info.Host.ID][v] = at
		}
	}
	for l := range total {
		p := programs[l.name]
		if p == nil {
			p = &program{hosts: make(map[string]float64), updated: make(map[string]bool)}
			programs[l.name] = p
		}
		if v := versions[l.host]; len(v) > 1 {
			var updated time.Time
			for _, at := range v {
				if at.After(updated) {
					updated = at
				}
			}
			p.updated[l.host] = true
			used, seconds := gain(l, fleetBegan, updated)
			p.before, p.bsec = p.before+used, p.bsec+seconds
			used, seconds = gain(l, updated, tomorrow)
			p.after, p.asec = p.after+used, p.asec+seconds
		}
	}
	for host := range a.name {
		top, err := query.Top(a.r, query.Window{Hosts: []string{host}, From: yesterday.UnixNano(), To: tomorrow.UnixNano() - 1}, query.ByCPU, query.PerName, 0)
		if err != nil {
			continue // Nothing was recorded of it then.
		}
		for _, c := range top.Consumers {
			p := programs[c.Name]
			p.hosts[host] += c.CPUTime()
			p.processes += c.Count
		}
	}
	for name, p := range programs {
		if len(p.hosts) == 0 {
			continue
		}
		sum, worst, host := 0.0, -1.0, ""
		for h, used := range p.hosts {
			if sum += used; used > worst {
				worst, host = used, h
			}
		}
		r.add(name, len(p.hosts), p.processes, rounded(sum/3600, 2), rounded(worst/3600, 2), host)
	}
	take("costliest-programs", 20, "-3", "0")
	for name, p := range programs {
		before, after := rounded(p.before/p.bsec, 4), rounded(p.after/p.asec, 4)
		if len(p.updated) >= 3 && before > 0 && after > 0.01 {
			r.add(name, len(p.updated), before, after, rounded(after/before, 2))
		}
	}
	take("regressed-since-update", 20, "-4", "0")
}

// sameAnswer compares two tables: words, and numbers but for their last digit.
func sameAnswer(want, got string) error {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(w) != len(g) {
		return fmt.Errorf("%d lines, want %d", len(g)-1, len(w)-1)
	}
	for i := range w {
		x, y := strings.Split(w[i], "\t"), strings.Split(g[i], "\t")
		if len(x) > len(y) {
			return fmt.Errorf("line %d is %q, want %q", i+1, g[i], w[i])
		}
		for j := range x {
			p, err1 := strconv.ParseFloat(x[j], 64)
			q, err2 := strconv.ParseFloat(strings.ReplaceAll(y[j], "\\'", "'"), 64)
			if err1 == nil && err2 == nil && math.Abs(p-q) <= 1e-6*math.Max(math.Abs(p), 1) {
				continue
			}
			if x[j] != strings.ReplaceAll(y[j], "\\'", "'") {
				return fmt.Errorf("line %d is %q, want %q", i+1, g[i], w[i])
			}
		}
	}
	return nil
}
