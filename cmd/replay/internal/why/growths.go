package why

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// hoards are what processes can run out of, or make others run out of: least is the number from
// which on it is worth a line, and severe is very many.
var hoards = []struct {
	metric, what  string
	least, severe float64
	explains      []string
	limit         string // the metric that holds how many a process may have
}{
	{"proc.fd.count", "open files", 800, 60000, []string{"files", "tcp"}, "proc.fd.limit"},
	{"proc.psinfo.threads", "threads", 150, 10000, []string{"processes"}, ""},
	{"proc.net.tcp_count", "TCP sockets", 400, 20000, []string{"tcp"}, ""},
}

// longest is the length of the longest window that is searched as a whole for what grows.
const longest = int64(time.Hour)

// summaries returns the summaries of a metric in some windows.
func (q *question) summaries(name string, parts []query.Window) iter.Seq[*store.Summary] {
	return func(yield func(*store.Summary) bool) {
		for _, w := range parts {
			for s := range q.a.Summarize(w.Selection(name)) {
				if s.Instance != nil && s.Count > 0 && !yield(s) {
					return
				}
			}
		}
	}
}

// growths finds processes that came to hold far more of something than before.
func (q *question) growths() ([]*finding, error) {
	var out []*finding
	of := make(map[string]*finding) // by key of the process
	for _, h := range hoards {
		if q.a.Lookup(h.metric) == nil {
			continue
		}
		type course struct {
			in          *metric.Instance
			first, most float64
			firstAt     int64
			mostAt      int64
		}
		all := make(map[string]*course)
		w := query.Window{Hosts: q.w.Hosts, From: q.w.From - besides/2, To: q.shown.To}
		parts := []query.Window{w}
		if w.To-w.From > longest {
			// For windows of hours only the beginning and the end are read: what grows is larger
			// at the end.
			parts = []query.Window{{Hosts: w.Hosts, From: w.From, To: w.From + besides}, {Hosts: w.Hosts, From: w.To - besides, To: w.To}}
		}
		for s := range q.summaries(h.metric, parts) {
			c := all[s.Instance.Key]
			if c == nil {
				c = &course{in: s.Instance, first: metric.Number(s.Metric.Type, s.First.Bits), firstAt: s.First.Wall}
				if began := s.Instance.Began(); began > w.From {
					c.first, c.firstAt = 0, began
				}
				all[s.Instance.Key] = c
			}
			if x := metric.Number(s.Metric.Type, s.Max); x > c.most {
				c.most, c.mostAt = x, s.Last.Wall
			} else if x > 0.9*c.most {
				c.mostAt = s.Last.Wall
			}
		}
		if err := q.ctx.Err(); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			c := all[key]
			grown := c.most - c.first
			if grown < h.least || c.most < 2*c.first || c.mostAt < q.w.From {
				continue
			}
			if c.first > 0 {
				c.firstAt = q.grewFrom(h.metric, c.in.Key, w, c.first+grown/20, 0.95*c.most, c.firstAt)
			}
			pid := query.ProcessID(c.in)
			f := &finding{kind: "growth", who: query.ProcessName(c.in), topic: "growth", cause: true, since: c.firstAt, until: c.mostAt, explains: h.explains,
				amount: grown, weight: grade(0.2, 0.5*logShare(grown, h.least, h.severe)),
				more: append([]string{"rates", h.metric, "-i", c.in.Name}, span(q.w.From, q.w.To)...)}
			half, stood := q.climb(h.metric, c.in.Key, w, (c.first+c.most)/2, 0.985*c.most, c.firstAt)
			if c.first == 0 && half-c.firstAt < atOnce {
				f.weight *= 0.75 // A process that has just begun takes what it needs.
			}
			f.sources = sourcesOf(c.in.Name, c.in.Key, h.metric)
			f.title = fmt.Sprintf("%s (pid %s)%s", f.who, strconv.Itoa(pid), query.WhoseIs(c.in).Beside(f.who))
			f.brief = fmt.Sprintf("%s %s", human.Count(c.most), h.what)
			f.text = fmt.Sprintf("%s came to hold %s, %s at %s", f.title, f.brief, human.Count(c.first), q.show(c.firstAt))
			if limit := q.limit(h.limit, c.in.Key, w, c.most); limit > 0 && c.most >= 0.985*limit {
				f.text += fmt.Sprintf(", and may hold %s", human.Count(limit))
				f.sources = append(f.sources, sourcesOf(c.in.Name, c.in.Key, h.limit)...)
				f.weight = max(f.weight, exhausted)
			} else if usual := usualLimit(c.most); h.limit != "" && limit == 0 && usual > 0 && stood >= atOnce {
				f.text += fmt.Sprintf(", and no more for %s: a limit of %s is likely", human.Duration(time.Duration(stood).Round(time.Second)), human.Count(usual))
				f.weight = max(f.weight, exhausted)
			}
			if g := of[c.in.Key]; g != nil {
				g.text += ", and " + f.brief
				g.weight, g.amount = max(g.weight, f.weight), max(g.amount, f.amount)
				g.explains = append(g.explains, f.explains...)
				g.sources = append(g.sources, f.sources...)
				continue
			}
			of[c.in.Key] = f
			out = append(out, f)
		}
	}
	return alike(out), nil
}

// grewFrom returns when a level of a process was last hardly more than at first, before it was
// highest.
func (q *question) grewFrom(name, key string, w query.Window, little, most float64, at int64) int64 {
	sel := w.Selection(name)
	sel.Keys = []string{key}
	for run := range q.a.Select(sel) {
		for i, wall := range run.Wall {
			switch x := run.At(i).Number(); {
			case x >= most:
				return at
			case x <= little:
				at = wall
			}
		}
	}
	return at
}

const (
	// atOnce is how long a process that has just begun may take to hold half of what it needs,
	// and how long a level must last to count as one.
	atOnce = int64(5 * time.Second)
	// exhausted is the weight of a process that can get no more of something.
	exhausted = 0.62
)

// climb returns when a level of a process was last no more than half, and for how long it then
// stayed nearly at its highest.
func (q *question) climb(name, key string, w query.Window, half, most float64, at int64) (halfAt, stood int64) {
	sel := w.Selection(name)
	sel.Keys = []string{key}
	halfAt = at
	top, last := int64(0), int64(0)
	for run := range q.a.Select(sel) {
		for i, wall := range run.Wall {
			switch x := run.At(i).Number(); {
			case x >= most:
				if top == 0 {
					top = wall
				}
				last = wall
			case x <= half && top == 0:
				halfAt = wall
			}
		}
	}
	return halfAt, last - top
}

// limit returns how much of something a process was allowed when it held most: the smallest of
// its limits that allows as much; 0 if none was recorded.
func (q *question) limit(name, key string, w query.Window, most float64) float64 {
	if name == "" || q.a.Lookup(name) == nil {
		return 0
	}
	sel := w.Selection(name)
	sel.Keys = []string{key}
	limit := 0.0
	for run := range q.a.Select(sel) {
		for i := range run.Wall {
			if x := run.At(i).Number(); x >= most && (limit == 0 || x < limit) {
				limit = x
			}
		}
	}
	return limit
}

// usualLimits are the numbers of files that systems let a process open, unless another limit was
// set.
var usualLimits = []float64{256, 1024, 2048, 2560, 4096, 8192, 10240, 16384, 32768, 65535, 65536, 131072, 262144, 524288, 1048576}

// usualLimit returns the usual limit that a level lies just below; 0 if there is none.
func usualLimit(level float64) float64 {
	for _, limit := range usualLimits {
		if level <= limit && level >= 0.985*limit {
			return limit
		}
	}
	return 0
}
