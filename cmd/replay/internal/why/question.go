package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// question is one Request that is being answered.
type question struct {
	ctx  context.Context
	a    query.Archive
	r    Request
	host metric.Host
	how  string

	from, to int64        // of the recording
	asked    query.Window // what was asked about
	w, calm  query.Window // the window examined, and the one to compare with
	shown    query.Window // the window that the answer names
	silences []silence
	field    *field
	whole    *field // of the whole recording; nil where it was not needed
	cores    float64
	memory   float64 // installed, in bytes; 0 where that is not known
	ledger   *ledger
	beside   map[string]*norm              // what is usual for names where no ledger is kept
	spent    map[spentKey][]*query.Ranking // what names and owners used in stretches of long windows
	// belongings say whose the processes of each name were in the window; nil until they are needed.
	belongings query.Belongings
	others     []*party // the machines that connections lead to; nil until they are needed
	// calmCPU is the share of a core that processes used in the calm stretch, by key; nil until
	// it is needed.
	calmCPU map[string]float64
}

func newQuestion(ctx context.Context, a query.Archive, r Request) (*question, error) {
	q := &question{ctx: ctx, a: a, r: r, ledger: &ledger{}, spent: make(map[spentKey][]*query.Ranking)}
	var list []*store.ArchiveInfo
	q.from, q.to, list = query.Covered(a, query.Window{Hosts: []string{r.Host}})
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing was recorded of host %s", r.Host)
	}
	q.host = list[len(list)-1].Host
	q.silences = silences(query.Breaks(a, query.Window{Hosts: []string{r.Host}}), q.from)
	return q, nil
}

const (
	// besides is how far before and after an instant the search for anything out of the ordinary
	// goes.
	besides = int64(5 * time.Minute)
	// least is the shortest length of a window.
	least = int64(time.Minute)
	// beyond is how far before and after a window the search for what reaches into it goes: what
	// happened only there is no finding.
	beyond = int64(time.Minute)
)

// choose sets the window, the field around it and the calm stretch. outside says that there is no
// answer: the recording had not begun or was over.
func (q *question) choose() (outside bool, err error) {
	switch {
	case q.r.At != 0:
		q.asked = query.Window{From: q.r.At, To: q.r.At}
		q.w = query.Window{From: max(q.r.At-besides, q.from), To: min(q.r.At+besides, q.to)}
	case q.r.Window.From != 0 || q.r.Window.To != 0:
		q.w = q.r.Window
		if q.w.From == 0 {
			q.w.From = q.from
		}
		if q.w.To == 0 {
			q.w.To = q.to
		}
		q.asked = q.w
		q.w.From, q.w.To = max(q.w.From, q.from), min(q.w.To, q.to)
		if length := q.w.To - q.w.From; length < least && length >= 0 {
			q.how = "widened by a minute to both sides"
		}
	default:
		if err := q.worst(); err != nil {
			return false, err
		}
		q.asked = q.w
	}
	if q.asked.From > q.to || q.asked.To < q.from {
		q.w = q.asked
		return true, nil
	}
	if s := q.during(q.asked.From, q.asked.To); s != nil {
		// Only what led to it can be shown besides.
		q.w = query.Window{From: max(s.From-2*besides, q.from), To: s.From}
		q.how = "what led to it"
	}
	q.shown = q.w
	if q.w.To-q.w.From < least {
		q.shown = query.Window{From: max(q.w.From-beyond, q.from), To: min(q.w.To+beyond, q.to)}
	}
	if q.r.At == 0 && q.w.To-q.w.From < longest && q.r.Window.To+q.r.Window.From != 0 {
		// What reaches into the window is seen whole.
		q.w.From, q.w.To = max(q.w.From-beyond, q.from), min(q.w.To+beyond, q.to)
	}
	q.w.Hosts, q.asked.Hosts = []string{q.r.Host}, []string{q.r.Host}
	q.sizes()
	return false, q.around()
}

// sizes finds out how large the machine is.
func (q *question) sizes() {
	q.cores = max(query.Cores(q.a, q.w), 1)
	for s := range q.a.Summarize(query.Window{Hosts: q.w.Hosts, To: q.w.To}.Selection("mem.physmem")) {
		if f, err := s.Metric.Units.Factor(metric.Bytes); err == nil && s.Count > 0 {
			q.memory = metric.Number(s.Metric.Type, s.Last.Bits) * f
		}
	}
}

// detectors look for one kind of trouble each.
var detectors = []struct {
	name string
	find func(*question) ([]*finding, error)
}{
	{"breaks", (*question).interruptions},
	{"events", (*question).happenings},
	{"processes", (*question).processes},
	{"signals", (*question).symptoms},
	{"switches", (*question).switching},
	{"flushes", (*question).flushes},
	{"held back", (*question).heldBack},
	{"births", (*question).births},
	{"ends", (*question).ends},
	{"growths", (*question).growths},
	{"volumes", (*question).volumes},
	{"disks", (*question).disks},
	{"networks", (*question).networks},
	{"listeners", (*question).listeners},
	{"peers", (*question).peers},
	{"callers", (*question).callers},
	{"held", (*question).held},
	{"supply", (*question).supply},
}

// findings runs all detectors.
func (q *question) findings() ([]*finding, error) {
	var all []*finding
	for _, d := range detectors {
		if s := q.during(q.asked.From, q.asked.To); s != nil && s.state == "asleep" && d.name != "breaks" {
			continue // Nothing leads to sleep.
		}
		if err := q.ctx.Err(); err != nil {
			return nil, err
		}
		some, err := d.find(q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		all = append(all, some...)
	}
	all = cooled(driven(endedOnce(q.agreed(all)), q.slack()), q.slack())
	all = waiting(queued(slices.DeleteFunc(all, q.aside)), q.slack())
	all = q.updated(joined(starved(q.unborne(all))))
	q.then(all)
	return all, nil
}

// aside reports whether a finding lies only beside the window.
func (q *question) aside(f *finding) bool {
	if q.r.At != 0 || f.topic == "break" || f.since == 0 || q.during(q.asked.From, q.asked.To) != nil {
		return false
	}
	return f.since >= q.shown.To || max(f.until, f.since+1) <= q.shown.From
}

// then makes what went on at the instant in question weigh more than what began later or was
// over.
func (q *question) then(all []*finding) {
	if q.r.At == 0 {
		return
	}
	for _, f := range all {
		if f.topic == "break" {
			continue
		}
		away := max(f.since-q.r.At, q.r.At-f.until, 0)
		f.weight *= 1 / (1 + float64(max(away-q.slack(), 0))/60e9)
	}
}

// slack returns how much later than its consequence a cause may have been noticed: processes are
// read more seldom than the machine.
func (q *question) slack() int64 { return 2*q.field.width + 2*leastStep }

// nothing returns the line for a window in which all was as usual.
func (q *question) nothing() Line {
	if q.calm.To == 0 {
		return Line{Text: fmt.Sprintf("it cannot be told whether anything was out of the ordinary from %s to %s: no calm stretch of the recording, which begins at %s and ends at %s, lies beside it to compare with; nothing was full, stopped or at its limit",
			q.show(q.shown.From), q.show(q.shown.To), q.show(q.from), q.show(q.to)), Kind: "untold", More: append([]string{"top"}, span(q.w.From, q.w.To)...)}
	}
	text := "nothing out of the ordinary from " + q.show(q.shown.From) + " to " + q.show(q.shown.To) + q.largest()
	return Line{Text: text, Kind: "nothing", More: append([]string{"top"}, span(q.w.From, q.w.To)...)}
}

// outside returns the line for a window in which nothing was recorded.
func (q *question) outside() Line {
	word := "ended at " + q.show(q.to)
	if q.asked.To < q.from {
		word = "begins at " + q.show(q.from)
	}
	return Line{Text: "not recorded: the recording " + word, Kind: "outside", Weight: 1, More: []string{"info"}}
}
