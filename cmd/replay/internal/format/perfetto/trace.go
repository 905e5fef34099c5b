package perfetto

import (
	"cmp"
	"context"
	"hash/fnv"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Format is the format for replay export.
var Format = export.Format{
	Name: "perfetto", Summary: "a trace with counters, processes and events, for ui.perfetto.dev", Steps: true,
	Write: func(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
		report := &export.Report{}
		n, err := t.Stream(ctx, func(w io.Writer) error { return cmp.Or(write(ctx, r, w, report), report.Nothing()) })
		report.Bytes = n
		return report, err
	},
}

// mostPoints is the most points of a counter if the user does not set steps: the viewer keeps
// the whole trace in memory, and a screen has fewer pixels.
const mostPoints = 2000

// steps are the possible lengths of steps.
var steps = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// stepFor returns the length of steps for a window; 0 means every reading.
func stepFor(from, to int64) time.Duration {
	if time.Duration(to-from) <= mostPoints*time.Second {
		return 0
	}
	for _, s := range steps {
		if int64(s)*mostPoints >= to-from {
			return s
		}
	}
	return (time.Duration((to-from)/mostPoints)/(24*time.Hour) + 1) * 24 * time.Hour
}

// trace is a trace that is being written.
type trace struct {
	packets
	ctx      context.Context
	r        *export.Request
	report   *export.Report
	from, to int64
	step     time.Duration

	groups map[uint64]bool
	breaks map[string][]query.Break // by host
	drawn  map[uint64]bool          // which of the processes being written have tracks
	keys   []string                 // the keys of their instances
	many   bool                     // there are several hosts
}

func write(ctx context.Context, r *export.Request, w io.Writer, report *export.Report) error {
	from, to, _ := query.Covered(r.Archive, r.Window)
	from, to = max(from, r.Window.From), min(to, end(r.Window))
	t := &trace{packets: packets{w: w, base: from}, ctx: ctx, r: r, report: report, from: from, to: to, step: stepFor(from, to),
		groups: make(map[uint64]bool), breaks: make(map[string][]query.Break), drawn: make(map[uint64]bool)}
	if r.Step != nil {
		t.step = *r.Step
	}
	if to < from {
		return nil
	}
	if t.step > 0 {
		report.Notes = append(report.Notes, "counters have a value for each "+strings.TrimSuffix(strings.TrimSuffix(t.step.String(), "0s"), "0m")+
			", as replay rates --step answers: --step says another length, --step 0 every reading")
	}
	t.clocks()
	hosts := r.HostsIn()
	t.many = len(hosts) > 1
	for i, h := range hosts {
		t.describe(track{id: t.id(h.ID), name: h.Name, rank: i + 1})
		if err := t.host(h); err != nil {
			return err
		}
	}
	return t.err
}

func end(w query.Window) int64 {
	if w.To == 0 {
		return 1<<63 - 1
	}
	return w.To
}

// host writes all of one host.
func (t *trace) host(h metric.Host) error {
	w := t.r.Window
	w.Hosts, w.From, w.To = []string{h.ID}, t.from, t.to
	t.recording(h, w)
	t.events(h, w)
	if err := t.lives(h, w); err != nil {
		return err
	}
	list := t.r.Wanted()
	texts := 0
	for i, d := range list {
		t.r.Done(int64(i), int64(len(list)))
		if d.Type == metric.String {
			texts++
			continue
		}
		if d.Indom == "process" || t.r.Metrics == nil && (d.Indom == "thread" || d.Indom == "connection") {
			continue // processes have theirs, without a selection only cpu and memory; threads and connections are too many
		}
		if err := t.counters(h, w, query.Target{Metric: d}, d.Name); err != nil {
			return err
		}
	}
	if texts > 0 && t.r.Metrics != nil {
		t.report.Notes = append(t.report.Notes, "metrics of text are left out: a trace has counters of numbers")
	}
	return t.err
}

// id makes the number of a track from its name. 49 bits take seven bytes in each packet, and are
// enough for millions of tracks to have different numbers.
func (t *trace) id(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		io.WriteString(h, p)
		h.Write([]byte{0})
	}
	sum := h.Sum64()
	return (sum^sum>>49)&(1<<49-1) | 1
}

// group describes the track above those of a family of metrics.
func (t *trace) group(h metric.Host, family string) uint64 {
	id := t.id(h.ID, "family", family)
	if !t.groups[id] {
		t.groups[id] = true
		parent := t.id(h.ID)
		if above, _, ok := cutLast(family); ok {
			parent = t.group(h, above)
		}
		t.describe(track{id: id, parent: parent, name: family})
	}
	return id
}

func cutLast(name string) (above, last string, ok bool) {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i+1:], true
	}
	return "", name, false
}

// recording writes when nothing was recorded.
func (t *trace) recording(h metric.Host, w query.Window) {
	on := t.id(h.ID, "recording")
	t.describe(track{id: on, parent: t.id(h.ID), name: "recording", rank: 1})
	t.breaks[h.ID] = query.Breaks(t.r.Archive, w)
	last := t.from
	for _, b := range t.breaks[h.ID] {
		from, to := max(b.From, last), min(b.To, t.to)
		if to <= from {
			continue
		}
		last = to
		t.event(typeBegin, on, from, string(b.Kind))
		t.event(typeEnd, on, to, "")
		t.report.Rows++
	}
}

// events writes events as instants, on a track for each kind. Starts and ends of processes are
// already in their slices.
func (t *trace) events(h metric.Host, w query.Window) {
	parent := t.id(h.ID, "events")
	described := false
	kinds := make(map[metric.EventKind]bool)
	for e := range query.SortedEvents(t.r.Archive, w) {
		if t.err != nil || t.ctx.Err() != nil {
			return
		}
		switch e.Kind {
		case metric.EventProcessStart, metric.EventProcessExec:
			continue
		case metric.EventProcessExit:
			if how := e.Label("how"); how == "" || how == "exit 0" {
				continue
			}
		}
		if e.At.Wall < t.from || e.At.Wall > t.to {
			continue
		}
		if !described {
			described = true
			t.describe(track{id: parent, parent: t.id(h.ID), name: "events", rank: 2})
		}
		on := t.id(h.ID, "event", string(e.Kind))
		if !kinds[e.Kind] {
			kinds[e.Kind] = true
			t.describe(track{id: on, parent: parent, name: string(e.Kind)})
		}
		t.event(typeInstant, on, e.At.Wall, e.Text)
		t.report.Rows++
	}
}

// shown returns a text that is safe to display, in UTF-8 and of bounded length.
func shown(s string) string {
	s = visible.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= longestName {
		return s
	}
	cut := longestName
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
