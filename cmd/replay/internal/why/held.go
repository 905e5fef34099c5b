package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/store/query"
)

// holds are the states in which a process can do nothing, however long they last.
var holds = []struct {
	signal, state string // the signal that counts the processes in the state, and the state's letter
	kind, says    string
	topic         string
	cause         bool
	weight        float64
	explains      []string
}{
	{"stopped", "T", "stopped", "was stopped, by a signal (SIGSTOP) or from a terminal,", "stopped", true, 0.75, []string{"listen"}},
	// A process that waits for a disk does so because of another one.
	{"stuck", "D", "stuck", "hung in the kernel, waiting uninterruptibly,", "disk", false, 0.5, nil},
}

// holdsLeast is how long a process must have been held to be worth a line.
const holdsLeast = int64(20e9)

// held finds processes that were stopped, or hung in the kernel, all the time.
func (q *question) held() ([]*finding, error) {
	var out []*finding
	for _, h := range holds {
		for _, c := range q.field.of[h.signal] {
			e := q.find(c, 0.9, func(float64) float64 { return 1 })
			if e == nil || q.field.duration(e) < holdsLeast {
				continue
			}
			since, until := q.field.times(e)
			list := q.heldThroughout(h.state, since, until, e.from > 0 && c.x[e.from-1] == c.x[e.from-1])
			if len(list) == 0 {
				continue
			}
			p := list[0]
			f := &finding{kind: h.kind, who: p.Name, title: fmt.Sprintf("%s (pid %d)%s", p.Name, p.PID, query.WhoseIs(p.Instance).Beside(p.Name)), topic: h.topic, cause: h.cause, explains: h.explains,
				since: since, until: until, weight: h.weight * lasted(until-since) * grade(0.4, 0.6*e.rare),
				more: append([]string{"ps", strconv.Itoa(p.PID)}, span(q.w.From, q.w.To)...)}
			f.sources = sourcesOf("", "", "proc.runq."+map[string]string{"T": "stopped", "D": "blocked"}[h.state])
			f.brief = f.title + " " + strings.TrimSuffix(h.says, ",")
			f.text = f.title + " " + h.says + q.when(since, until)
			if n := len(list) - 1; n > 0 {
				f.text += "; so " + wereOf(n) + " " + cli.Count(n, "other process")
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func wereOf(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// heldThroughout returns the processes that were in a state from one instant to another, and with
// began, not before.
func (q *question) heldThroughout(state string, since, until int64, began bool) []*query.Process {
	in := func(at int64) map[string]bool {
		keys := make(map[string]bool)
		for _, p := range query.Processes(q.a, query.Window{Hosts: q.w.Hosts}, at, nil) {
			if strings.HasPrefix(p.State, state) {
				keys[p.Instance.Key] = true
			}
		}
		return keys
	}
	const looks = 4
	var before map[string]bool
	if began { // Without an earlier reading, a state that lasted all the time counts, too.
		before = in(since - q.slack())
	}
	var list []*query.Process
	for k := int64(1); k <= looks; k++ {
		at := since + k*(until-since)/(looks+1)
		if k == 1 {
			for _, p := range query.Processes(q.a, query.Window{Hosts: q.w.Hosts}, at, nil) {
				if strings.HasPrefix(p.State, state) && !before[p.Instance.Key] {
					list = append(list, p)
				}
			}
			continue
		}
		now := in(at)
		list = slices.DeleteFunc(list, func(p *query.Process) bool { return !now[p.Instance.Key] })
	}
	return list
}
