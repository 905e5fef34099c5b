package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// ends finds programs that something starts again and again, only for them to fail, and processes
// that were killed or crashed.
func (q *question) ends() ([]*finding, error) {
	w := query.Window{Hosts: q.w.Hosts, From: q.field.from, To: q.field.begin(q.field.n)}
	told := make(map[string]bool)
	var out []*finding
	for _, l := range q.loopsOf() {
		if told[l.name] {
			continue
		}
		told[l.name] = true
		if !q.served(l) {
			continue
		}
		// How often it usually fails in so long a time outside the window.
		usual := 0.0
		if rest := float64(w.To-w.From) - float64(q.w.To-q.w.From); rest > 0 {
			usual = float64(l.elsewhere) * float64(q.w.To-q.w.From) / rest
		}
		if l.first-q.w.From < 3*int64(l.every) && q.w.To-l.last < 3*int64(l.every) && 2*(q.w.To-q.w.From) > w.To-w.From {
			usual = float64(l.failed) / 2 // It did so all the time, so what is usual is unknown.
		}
		f := &finding{kind: "crash loop", who: l.name, topic: "loop", cause: true, since: l.first, until: l.last,
			weight: grade(0.62, 0.3*min(float64(l.failed)/40, 1)) * novel(usual, float64(l.failed)), explains: []string{"births", "death"}, amount: float64(l.failed) / max(float64(l.last-l.first)/1e9, 1),
			more: append([]string{"events", "--group"}, span(q.w.From, q.w.To)...)}
		f.text = fmt.Sprintf("%s failed and was started again, over and over, from %s to %s: %s, every %s, %s", l.name+query.WhoseWas(q.a, &l.fails).Beside(l.name), q.show(l.first), q.show(l.last),
			cli.Count(l.failed, "time"), human.Duration(l.every), l.how())
		if who := q.processOf(l.parent); who != "" {
			f.text += ", by " + who
		}
		out = append(out, f)
	}
	return append(out, q.deaths()...), nil
}

const (
	// mostLoops bounds the loops that are kept apart, whatever an archive holds.
	mostLoops = 10_000
	// leastFailures is the fewest failures of a crash loop, which also fails most of the time.
	leastFailures = 5
	// leastOfNo is how long failures must go on to mean trouble of a service. Many commands, such
	// as grep, test, diff and curl, say no by the way they end, and a process that is killed is
	// so by intention.
	leastOfNo = 30 * time.Second
)

// starved joins the finding of a program that is started again and again with that of the kernel
// killing it each time for lack of memory.
func starved(all []*finding) []*finding {
	for _, l := range all {
		if l.kind != "crash loop" {
			continue
		}
		for i, e := range all {
			if e.topic == "memory" && slices.Contains(e.about, l.who) {
				l.text += "; the kernel killed it for lack of memory"
				l.weight = max(l.weight, min(e.weight+0.02, 1))
				l.since = min(l.since, e.since)
				return slices.Delete(all, i, i+1)
			}
		}
	}
	return all
}

// loop is what one parent started under one name.
type loop struct {
	name, parent  string
	count, failed int
	first, last   int64
	gaps          []int64
	took          []float64 // seconds that each process lived, where that is known
	hows          map[string]int
	every         time.Duration
	fails         store.Event // the first failure
	// elsewhere is how often it failed in the field, outside the window.
	elsewhere int
}

// loopsOf returns the crash loops of a window. Programs of one name are kept apart by their
// parents: the failures of a shell's scripts are no trouble of a service.
func (q *question) loopsOf() []*loop {
	all := make(map[[2]string]*loop)
	var order []*loop
	looked := 0
	outside := make(map[[2]string]int)
	w := query.Window{Hosts: q.w.Hosts, From: q.field.from, To: q.field.begin(q.field.n)}
	for e := range query.SortedEvents(q.a, w, metric.EventProcessExit) {
		if looked++; looked > 4*mostExits {
			break
		}
		how := e.Label("how")
		key := [2]string{e.Label("name"), e.Label("parent")}
		if !q.w.Holds(e.At.Wall) {
			if query.Failed(how) && len(outside) < mostLoops {
				outside[key]++
			}
			continue
		}
		l := all[key]
		if l == nil {
			if how == "" || len(all) >= mostLoops {
				continue
			}
			l = &loop{name: key[0], parent: key[1], hows: make(map[string]int)}
			all[key] = l
			order = append(order, l)
		}
		if l.count++; !query.Failed(how) {
			continue
		}
		if l.failed++; l.failed == 1 {
			l.first, l.fails = e.At.Wall, *e
		} else {
			l.gaps = append(l.gaps, e.At.Wall-l.last)
		}
		l.last = e.At.Wall
		l.hows[how]++
		if began, err := time.Parse(time.RFC3339Nano, e.Label("start")); err == nil && len(l.took) < mostTook {
			l.took = append(l.took, float64(e.At.Wall-began.UnixNano())/1e9)
		}
	}
	for key, n := range outside {
		if l := all[key]; l != nil {
			l.elsewhere = n
		}
	}
	list := slices.DeleteFunc(order, func(l *loop) bool { return !l.crashes() })
	slices.SortStableFunc(list, func(x, y *loop) int { return cmp.Compare(y.failed, x.failed) })
	return list
}

// crashes reports whether the loop is a crash loop, and finds its rhythm.
func (l *loop) crashes() bool {
	if l.failed < leastFailures || 5*l.failed < 4*l.count {
		return false
	}
	if !query.Crashed(l.how()) && l.last-l.first < int64(leastOfNo) {
		return false
	}
	every := query.Rhythm(l.gaps)
	l.every = every.Round(100 * time.Millisecond)
	return every > 0
}

const (
	// mostTook bounds how many lives of a loop are examined.
	mostTook = 1000
	// A service has run for at least servesLeast and servesTimes its rhythm before it counts as
	// one that fails.
	servesLeast, servesTimes = 20 * time.Second, 5
	// tries is how many seconds each attempt of a service that never came up takes at least: a
	// command of a script that asks again and again is done at once.
	tries = 0.4
	// pollsWithin is how soon scripts ask again.
	pollsWithin = 2 * time.Second
)

// served reports whether a loop is that of a service that fails, and not of a script that asks
// until the answer is yes: it had run for long before, it crashed, or it tried for a while each
// time. A process that its parent kills each time does not fail.
func (q *question) served(l *loop) bool {
	if query.Crashed(l.how()) {
		return true
	}
	if l.how() != "signal 9" && l.how() != "signal 15" && len(l.took) > 0 && quantile(l.took, 0.5) >= tries {
		return true
	}
	if len(l.took) == 0 && l.how() != "exit 1" && l.every >= pollsWithin {
		return true // It is not known how long it tried.
	}
	long := max(int64(servesLeast), servesTimes*int64(l.every))
	for life := range q.a.Lives("process", q.field.from, l.first+int64(time.Second)) {
		if life.Archive.Host.ID != q.r.Host || query.ProcessName(life.Instance) != l.name || l.parent != "" && life.Instance.Label("parent") != l.parent {
			continue
		}
		from := life.From
		if began := life.Instance.Began(); began > 0 {
			from = began
		}
		if min(life.To, l.first)-from >= long {
			return true
		}
	}
	return false
}

// how returns the way in which most of them ended.
func (l *loop) how() string {
	return slices.MinFunc(slices.Collect(maps.Keys(l.hows)), func(x, y string) int {
		return cmp.Or(cmp.Compare(l.hows[y], l.hows[x]), cmp.Compare(x, y))
	})
}

// lived is how long a process must have run for its end to be missed.
const lived = int64(time.Minute)

// missed reports whether a process that was killed had run for long, was the only one of its
// name, and was not started again.
func (q *question) missed(e *store.Event) bool {
	began := e.At.Wall
	for life := range q.a.Lives("process", e.At.Wall-lived, e.At.Wall, e.Key) {
		if began = min(began, life.From); life.Instance.Began() > 0 {
			began = min(began, life.Instance.Began())
		}
	}
	if e.At.Wall-began < lived || q.to < e.At.Wall+leastStep {
		return false
	}
	for life := range q.a.Lives("process", e.At.Wall+leastStep, e.At.Wall+lived) {
		if life.Archive.Host.ID == q.r.Host && life.Instance.Key != e.Key && query.ProcessName(life.Instance) == e.Label("name") {
			return false
		}
	}
	return true
}

// deaths finds processes that were killed or crashed.
func (q *question) deaths() []*finding {
	type death struct {
		name, how string
		count     int
		first     *finding
		at        int64
	}
	by := make(map[string]*death)
	var order []*death
	looked := 0
	for e := range query.SortedEvents(q.a, q.w, metric.EventProcessExit) {
		if looked++; looked > mostExits {
			break
		}
		how, cause := e.Label("how"), e.Label("cause")
		missed := how == "signal 9" && cause == "" && q.missed(e)
		if !query.Crashed(how) && cause == "" && !missed {
			continue
		}
		if cause != "" {
			how = "ended by the kernel: " + cause
		}
		key := e.Label("name") + "\x00" + how
		d := by[key]
		if d == nil {
			d = &death{name: e.Label("name"), how: how, at: e.At.Wall}
			pid, _ := strconv.Atoi(e.Label("pid"))
			who := fmt.Sprintf("%s (pid %d)%s", d.name, pid, query.WhoseWas(q.a, e).Beside(d.name))
			d.first = &finding{kind: "death", who: d.name, topic: "death", since: e.At.Wall, until: e.At.Wall, weight: 0.3,
				text: fmt.Sprintf("%s ended at %s: %s", who, q.show(e.At.Wall), how),
				more: append([]string{"events", "--kind", "process exit"}, span(e.At.Wall-int64(10e9), e.At.Wall+int64(10e9))...)}
			if cause != "" {
				d.first.weight = 0.8
				if strings.HasPrefix(cause, "memory") {
					d.first.topic = "memory"
				}
			}
			if missed {
				d.first.weight = 0.42
				d.first.brief = "and did not come back"
				d.first.text = fmt.Sprintf("%s was killed at %s (signal 9) %s", who, q.show(e.At.Wall), d.first.brief)
			}
			by[key] = d
			order = append(order, d)
		}
		if d.count++; e.Key != "" && d.count <= mostAbout {
			d.first.ends = append(d.first.ends, e.Key)
		}
	}
	var out []*finding
	for _, d := range order {
		if d.count > 1 {
			d.first.text += fmt.Sprintf(" (%s in all)", cli.Count(d.count, "such end"))
		}
		d.first.weight = grade(d.first.weight, 0.1*min(float64(d.count-1)/5, 1))
		out = append(out, d.first)
	}
	return out
}

// endedOnce leaves the end of a process to the line that says what it did until then.
func endedOnce(all []*finding) []*finding {
	did := make(map[string]*finding)
	for _, f := range all {
		if len(f.ends) == 1 && f.kind != "death" && f.weight >= leastWeight {
			did[f.ends[0]] = f
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool {
		if f.kind != "death" || len(f.ends) != 1 || did[f.ends[0]] == nil {
			return false
		}
		d := did[f.ends[0]]
		d.weight = max(d.weight, f.weight)
		if f.brief != "" {
			d.text += " " + f.brief
		}
		return true
	})
}
