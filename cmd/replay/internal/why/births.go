package why

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	birthsLeast, birthsSevere = 20, 400 // a second
	// birthsSettle is how long births must go on to weigh half of what they would if they went on
	// for ever.
	birthsSettle = int64(10e9)
	// mostExits bounds how many ends are examined to find whose births they were.
	mostExits = 50_000
)

// births finds processes that are started faster than they are needed. Processes that no sweep
// met count, too.
func (q *question) births() ([]*finding, error) {
	var out []*finding
	for _, c := range q.field.of["births"] {
		bad := func(x float64) float64 { return logShare(x, birthsLeast, birthsSevere) }
		e := q.find(c, birthsLeast, bad)
		if e == nil {
			continue
		}
		since, until := q.field.times(e)
		f := &finding{kind: "births", who: "births", topic: "births", cause: true, since: since, until: until,
			weight: q.field.worth(e, 0.75, bad(e.level)) * float64(until-since) / float64(until-since+birthsSettle) * q.cost(since, until), explains: []string{"cpu", "load", "processes"}, amount: e.level,
			more: append([]string{"top", "--group", "name", "--by", "runs"}, span(q.w.From, q.w.To)...)}
		f.text = fmt.Sprintf("%s processes began each second%s%s", human.Figures(roundTo(e.level)), q.when(since, until), q.against(human.Figures(roundTo(orZero(e.calm)))))
		f.text += q.whoseBirths(since, until)
		f.sources = q.sourcesOfSignal(c.signal, "", "")
		out = append(out, f)
	}
	return out, nil
}

// cost returns how much births weigh by the share of the processors that processes used which no
// reading met: a tenth gives the full weight.
func (q *question) cost(since, until int64) float64 {
	_, seen := q.share("", thingCPU, since, until)
	unseen := (float64(q.level("cpu", since, until)*q.cores) - seen) / q.cores
	return grade(0.5, 0.5*min(max(unseen/0.1, 0), 1))
}

func roundTo(x float64) float64 {
	if x >= 10 {
		return math.Round(x)
	}
	return math.Round(x*10) / 10
}

// whoseBirths names the processes that came and went, and the process that started most of them.
func (q *question) whoseBirths(since, until int64) string {
	byName, byParent := make(map[string]int), make(map[string]int)
	looked, ended, told := 0, 0, 0
	for e := range q.a.Events(since, until+q.field.width, metric.EventProcessExit, metric.EventProcessExits) {
		if e.Archive.Host.ID != q.r.Host {
			continue
		}
		if looked++; looked > mostExits {
			break
		}
		n := 1
		if e.Kind == metric.EventProcessExits {
			n, _ = strconv.Atoi(e.Label("count"))
		} else if p := e.Label("parent"); p != "" {
			byParent[p]++
			told++
		}
		if n > 0 && n < 1<<30 {
			byName[e.Label("name")] += n
			ended += n
		}
	}
	if ended == 0 {
		return ""
	}
	order := slices.SortedFunc(maps.Keys(byName), func(x, y string) int { return cmp.Or(cmp.Compare(byName[y], byName[x]), cmp.Compare(x, y)) })
	text := ""
	if n := byName[order[0]]; 2*n >= ended {
		text = fmt.Sprintf(", %s of them %s", human.Percent(float64(n)/float64(ended)), order[0])
	} else {
		text = ", most often " + names(order[:min(len(order), 2)])
	}
	parents := slices.SortedFunc(maps.Keys(byParent), func(x, y string) int { return cmp.Or(cmp.Compare(byParent[y], byParent[x]), cmp.Compare(x, y)) })
	if len(parents) > 0 && 2*byParent[parents[0]] >= told {
		if who := q.processOf(parents[0]); who != "" {
			text += ", started by " + who
		}
	}
	return text
}

// processOf names the process with a key.
func (q *question) processOf(key string) string {
	for l := range q.a.Lives("process", q.w.From-besides, q.w.To, key) {
		if l.Archive.Host.ID == q.r.Host {
			name := query.ProcessName(l.Instance)
			return fmt.Sprintf("%s (pid %d)%s", name, query.ProcessID(l.Instance), query.WhoseIs(l.Instance).Beside(name))
		}
	}
	return ""
}
