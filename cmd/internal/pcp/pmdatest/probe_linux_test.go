package pmdatest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// reading is a value that `recorder probe` prints.
type reading struct {
	Metric, Instance, Semantics, Reason string
	Value                               any
}

// series is whose value one is.
type series struct{ metric, instance string }

// probed is what recorder probe reads of this machine.
func probed(t testing.TB, args ...string) []reading {
	t.Helper()
	return asked[reading](t, exec.Command(recorder(t), append([]string{"probe", "--json", "--processes", "--wait", "100ms"}, args...)...))
}

// present are those of them that are there.
func present(list []reading) map[series]reading {
	all := make(map[series]reading)
	for _, r := range list {
		if r.Reason == "" {
			all[series{r.Metric, pcpName(r.Metric, r.Instance)}] = r
		}
	}
	return all
}

// pcpName is what PCP calls an instance.
func pcpName(metric, instance string) string {
	if strings.HasPrefix(metric, "coalition.") || strings.HasPrefix(metric, "owner.") || strings.HasPrefix(metric, "network.listener.") ||
		strings.HasPrefix(metric, "network.persocket.") {
		return pcp.InstanceName(instance)
	}
	return instance
}

// overTheInterval are the metrics that are computed of what was gained since they were
// read before, which differs for each who reads.
func overTheInterval(rows []row) map[string]bool {
	list := make(map[string]bool)
	for _, r := range rows {
		if strings.Contains(r.Formula, "delta(") || strings.Contains(r.Formula, "rate(") {
			list[r.Metric] = true
		}
	}
	return list
}

// A judge holds what PCP is told against two readings of `recorder probe` around it.
type judge struct {
	moving        map[string]bool   // computed over an interval
	own           []string          // processes of the test itself, as their names begin
	reaped, now   map[string]string // what processes had of children before the agent began, and have
	before, after map[series]reading
	told          map[series]string
}

// reaped is of how many faults of ended children the kernel tells, by pid: it is more
// after each child that is waited for.
func reaped(t testing.TB) map[string]string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, path := range list {
		text, _ := os.ReadFile(path) // who has ended has none
		if _, rest, ok := strings.Cut(string(text), ") "); ok {
			if f := strings.Fields(rest); len(f) > 10 {
				all[filepath.Base(filepath.Dir(path))] = f[8] + " " + f[10]
			}
		}
	}
	return all
}

// outside reports what cannot be judged: what is about the reader, or depends on when it
// began to look.
func (j *judge) outside(id series) bool {
	for _, p := range j.own {
		if strings.HasPrefix(id.instance, p) {
			return true
		}
	}
	if strings.HasPrefix(id.metric, "proc.io.") {
		// What is inherited of children is known since the recorder began, and taken off.
		pid, _, _ := strings.Cut(strings.TrimLeft(id.instance, "0"), " ")
		if now := j.now[pid]; now != cmp.Or(j.reaped[pid], "0 0") {
			return true
		}
		for _, m := range []string{"proc.io.inherited_read_bytes", "proc.io.inherited_write_bytes"} {
			inherited := series{m, id.instance}
			if fmt.Sprint(j.before[inherited].Value) != j.told[inherited] {
				return true
			}
		}
	}
	return j.moving[id.metric] || sinceItBegan[id.metric] || ofSharers[id.metric] || heardOf(id) || aboutTheReader(id)
}

// heardOf reports whether a metric is about connections that the reader has heard of: each program
// that reads them began to listen at another time.
func heardOf(id series) bool {
	return strings.HasPrefix(id.metric, "network.traffic.") || strings.HasPrefix(id.metric, "network.persocket.") ||
		strings.HasSuffix(id.metric, ".connection_bytes") || strings.HasPrefix(id.metric, "system.report.")
}

// sinceItBegan are counted by the recorder itself, since it runs.
var sinceItBegan = map[string]bool{"proc.exited": true, "proc.forked": true, "proc.unseen": true, "proc.unseen_max": true, "proc.started": true}

// ofSharers change when another process that has mapped the same file comes or goes, and the agent
// keeps them for a minute.
var ofSharers = map[string]bool{"proc.smaps.private_clean": true, "proc.smaps.shared_clean": true, "proc.smaps.pss": true}

// aboutTheReader reports whether a value is that of a recorder.
func aboutTheReader(id series) bool {
	return strings.HasPrefix(id.metric, "process.") || strings.HasPrefix(id.metric, "recorder.") || strings.HasSuffix(id.instance, " recorder") ||
		strings.HasPrefix(id.metric, "coalition.") && id.instance == "recorder"
}

// found is what is wrong with the value of a series, if anything. What is no counter may
// be a little less or more than before and after: who looks has files open.
func (j *judge) found(id series, b, a reading) string {
	text, ok := j.told[id]
	slack := 1e-6
	if b.Semantics != metric.Counter.String() {
		slack = 0.2
	}
	switch {
	case !ok:
		return fmt.Sprintf("is missing; it is %v", b.Value)
	case !between(text, b.Value, a.Value, slack):
		return fmt.Sprintf("is %s, between %v and %v", text, b.Value, a.Value)
	}
	return ""
}

// rounds are enough for what moves to and fro to lie between two readings once.
const rounds = 60

// TestValuesAreWhatProbeReads has the agent read between two readings of `recorder probe`:
// what it says lies between them. What moves to and fro may not at once, but does in the
// end; who has come or gone meanwhile does not count.
func TestValuesAreWhatProbeReads(t *testing.T) {
	t.Parallel()
	recorder(t) // skips where there is no PCP
	j := &judge{reaped: reaped(t)}
	d := answering(t, dynamic)
	rows := asked[row](t, exec.Command(recorder(t), "metrics", "--json"))
	j.moving = overTheInterval(rows)
	for _, pid := range []int{os.Getpid(), d.PID(), d.AgentPID("tachograph")} {
		j.own = append(j.own, fmt.Sprintf("%06d ", pid))
	}
	plain, names := make(map[string]string), make(map[string]string) // by PCP's name, and the other way round
	for name, m := range listed(t, rows, pcp.Beside(domain)) {
		plain[name], names[m.Desc.Name] = m.Desc.Name, name
	}
	proved, open := 0, make(map[series]string) // what has not been told as it is yet
	unknown := make(map[series]bool)           // what has been told only
	var metrics, wanted []string               // those of open; nil: all
	for round := 1; round <= rounds; round++ {
		j.before = present(probed(t, metrics...))
		if wanted == nil {
			wanted = []string{"tachograph"}
		}
		j.told = told(d.Info(t, wanted...), plain)
		j.after = present(probed(t, metrics...))
		j.now = reaped(t)
		if round == 1 {
			for id := range j.before {
				open[id] = ""
			}
			for id := range j.told {
				unknown[id] = id.metric != "" && !strings.HasPrefix(id.metric, "proc.")
			}
		}
		for id := range open {
			b, then := j.before[id]
			a, still := j.after[id]
			switch {
			case !then || !still || j.outside(id):
				delete(open, id)
			default:
				if open[id] = j.found(id, b, a); open[id] == "" {
					proved++
					delete(open, id)
				}
			}
		}
		for id, so := range unknown {
			_, then := j.before[id]
			_, now := j.after[id]
			if _, told := j.told[id]; !so || !told || then || now || j.outside(id) {
				delete(unknown, id)
			}
		}
		if len(open) == 0 && len(unknown) == 0 {
			break
		}
		metrics, wanted = unproved(open, unknown), nil
		for _, m := range metrics {
			wanted = append(wanted, names[m])
		}
	}
	t.Logf("%d values are proved", proved)
	for id, wrong := range open {
		t.Errorf("%s %s %s", id.metric, id.instance, wrong)
	}
	for id := range unknown {
		t.Errorf("%s %s is told, and nothing that can be probed", id.metric, id.instance)
	}
}

// unproved are the metrics of series, and what is to be known beside to judge them.
func unproved(open map[series]string, unknown map[series]bool) []string {
	list := make(map[string]bool)
	for id := range open {
		list[id.metric] = true
		if strings.HasPrefix(id.metric, "proc.io.") {
			list["proc.io.inherited_read_bytes"], list["proc.io.inherited_write_bytes"] = true, true
		}
	}
	for id := range unknown {
		list[id.metric] = true
	}
	return slices.Sorted(maps.Keys(list))
}

// told are the values that pminfo tells, by the names of recorder's metrics.
func told(list []*pmcdtest.Told, plain map[string]string) map[series]string {
	values := make(map[series]string)
	for _, m := range list {
		for _, v := range m.Values {
			// Of who has ended meanwhile pminfo complains in the next line.
			text, _, more := strings.Cut(v.Text, "\npmNameIndom: ")
			if more {
				text = strings.TrimSuffix(text, `"`)
			}
			values[series{plain[m.Name], v.Instance}] = text
		}
	}
	return values
}

// between reports whether what pminfo prints, with fewer digits for fractions, is within
// two values.
func between(text string, a, b any, slack float64) bool {
	x, fails := strconv.ParseFloat(text, 64)
	low, aIs := a.(json.Number)
	high, bIs := b.(json.Number)
	if !aIs || !bIs {
		return text == fmt.Sprint(a) || text == fmt.Sprint(b)
	}
	if fails != nil {
		return false
	}
	if text == low.String() || text == high.String() {
		return true
	}
	l, err1 := low.Float64()
	h, err2 := high.Float64()
	if err1 != nil || err2 != nil {
		return false
	}
	l, h = min(l, h), max(l, h)
	slack *= max(math.Abs(l), math.Abs(h))
	return x >= l-slack && x <= h+slack
}
