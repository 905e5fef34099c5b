package ask

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
)

// What a question may hold, because a command's cost grows with its patterns.
const (
	mostText  = 4 << 10  // bytes of one text
	mostTexts = 64 << 10 // bytes of all
	mostWords = 1000     // texts
)

// Arguments returns the command line for a question. No text from the client is a word of its
// own before "--": each is the value of a flag, in the same word, or an operand of a command
// whose operands are not file names.
func Arguments(r *tachographv1.QueryRequest) ([]string, error) {
	l := &line{}
	l.texts("host", r.GetHosts())
	l.text("tz", r.GetZone())
	if _, ok := r.GetQuestion().(*tachographv1.QueryRequest_Diff); !ok {
		l.time("from", r.GetFrom())
		l.time("to", r.GetTo())
	}
	l.question(r)
	if l.err != nil {
		return nil, l.err
	}
	args := l.flags
	if l.command != "" {
		args = append([]string{l.command}, args...)
	}
	return append(append(args, "--"), l.operands...), nil
}

// A line is a command line that is being made.
type line struct {
	command  string
	flags    []string
	operands []string
	bytes    int
	err      error
}

func (l *line) question(r *tachographv1.QueryRequest) {
	switch q := r.GetQuestion().(type) {
	case *tachographv1.QueryRequest_Rates:
		l.command = "rates"
		l.series(q.Rates)
		l.mark("explain", q.Rates.GetExplain())
	case *tachographv1.QueryRequest_Values:
		l.command = "values"
		l.series(q.Values)
	case *tachographv1.QueryRequest_Ranges:
		l.command = "ranges"
		l.series(q.Ranges)
		l.mark("rates", q.Ranges.GetRates())
		l.mark("quick", q.Ranges.GetQuick())
		l.mark("exact", q.Ranges.GetExact())
	case *tachographv1.QueryRequest_Processes:
		l.command = "ps"
		l.time("at", q.Processes.GetAt())
		l.text("sort", q.Processes.GetSort())
		l.count(q.Processes.GetNumber())
		l.length("step", q.Processes.GetStep())
		l.operand(q.Processes.GetMatch()...)
	case *tachographv1.QueryRequest_Threads:
		l.command = "threads"
		l.time("at", q.Threads.GetAt())
		l.text("sort", q.Threads.GetSort())
		l.count(q.Threads.GetNumber())
		l.operand(q.Threads.GetMatch()...)
	case *tachographv1.QueryRequest_Top:
		l.command = "top"
		l.text("by", q.Top.GetBy())
		l.text("group", q.Top.GetGroup())
		if q.Top.Number != nil {
			l.count(q.Top.GetNumber())
		}
	case *tachographv1.QueryRequest_Moment:
		l.command = "at"
		if q.Moment.GetAt() == nil {
			l.fail(errors.New("a moment needs its time: set at"))
		}
		l.operand(l.instant("at", q.Moment.GetAt()))
	case *tachographv1.QueryRequest_Diff:
		l.command = "diff"
		l.diff(r, q.Diff)
	case *tachographv1.QueryRequest_Events:
		l.command = "events"
		l.texts("kind", q.Events.GetKinds())
		l.mark("group", q.Events.GetGroup())
	case *tachographv1.QueryRequest_Overview:
	case *tachographv1.QueryRequest_Summary:
		l.command = "summary"
	case *tachographv1.QueryRequest_Find:
		l.command = "find"
		l.texts("instance", q.Find.GetInstances())
		l.length("step", q.Find.GetStep())
		l.length("for", q.Find.GetLeast())
		l.operand(q.Find.GetCondition())
	case *tachographv1.QueryRequest_Archives:
		l.command = "info"
	case *tachographv1.QueryRequest_Metrics:
		l.command = "metrics"
		l.mark("all", q.Metrics.GetAll())
		l.operand(q.Metrics.GetMatch()...)
	case *tachographv1.QueryRequest_Explain:
		l.command = "explain"
		l.operand(q.Explain.GetMetrics()...)
	case *tachographv1.QueryRequest_Why:
		l.command = "why"
		l.time("at", q.Why.GetAt())
	case *tachographv1.QueryRequest_Stacks:
		l.command = "stacks"
		l.time("at", q.Stacks.GetAt())
		l.mark("running", q.Stacks.GetRunning())
		l.mark("waiting", q.Stacks.GetWaiting())
		l.mark("top", q.Stacks.GetFunctions())
		if q.Stacks.Number != nil {
			l.count(q.Stacks.GetNumber())
		}
		l.operand(q.Stacks.GetMatch()...)
	default:
		l.fail(errors.New("no question: set rates, values, ranges, processes, threads, top, moment, diff, events, overview, summary, find, archives, metrics, explain, why or stacks"))
	}
}

// seriesQuestion is what all questions about series have.
type seriesQuestion interface {
	GetMetrics() []string
	GetInstances() []string
	GetStep() *durationpb.Duration
	GetUnits() string
}

func (l *line) series(q seriesQuestion) {
	l.texts("instance", q.GetInstances())
	l.length("step", q.GetStep())
	l.text("units", q.GetUnits())
	l.operand(q.GetMetrics()...)
}

// diff compares the window of the request with the one before it, or with the window that the
// question names.
func (l *line) diff(r *tachographv1.QueryRequest, q *tachographv1.DiffQuestion) {
	l.mark("all", q.GetAll())
	if q.Number != nil {
		l.count(q.GetNumber())
	}
	window := func(from, to *timestamppb.Timestamp) string {
		begin, end := "start", "end"
		if from != nil {
			begin = l.instant("from", from)
		}
		if to != nil {
			end = l.instant("to", to)
		}
		return begin + ".." + end
	}
	given := q.GetFrom() != nil || q.GetTo() != nil
	switch {
	case q.GetAgainst() != "" && given:
		l.fail(errors.New("a difference is to a window before or against a day or host: set from and to, or against"))
	case q.GetAgainst() != "":
		l.text("against", q.GetAgainst())
		if r.GetFrom() != nil || r.GetTo() != nil {
			l.operand(window(r.GetFrom(), r.GetTo()))
		}
	case !given:
		l.fail(errors.New("a difference needs what to compare the window with: set from and to of the question, or against"))
	default:
		l.operand(window(q.GetFrom(), q.GetTo()), window(r.GetFrom(), r.GetTo()))
	}
}

func (l *line) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// take counts a text from the client, and refuses what cannot be a name or pattern.
func (l *line) take(s string) {
	l.bytes += len(s)
	switch {
	case len(s) > mostText:
		l.fail(fmt.Errorf("a text of %d bytes is too long: at most %d", len(s), mostText))
	case l.bytes > mostTexts:
		l.fail(fmt.Errorf("more than %d bytes of texts: ask in parts", mostTexts))
	case len(l.flags)+len(l.operands) > mostWords:
		l.fail(fmt.Errorf("more than %d names or patterns: ask in parts, or with fewer globs", mostWords))
	case !utf8.ValidString(s):
		l.fail(errors.New("a text is not UTF-8"))
	}
}

func (l *line) flag(name, value string) { l.flags = append(l.flags, "--"+name+"="+value) }

func (l *line) mark(name string, set bool) {
	if set {
		l.flag(name, "true")
	}
}

func (l *line) text(name, s string) {
	if s != "" {
		l.take(s)
		l.flag(name, s)
	}
}

func (l *line) texts(name string, list []string) {
	for _, s := range list {
		l.take(s)
		l.flag(name, s)
		if l.err != nil {
			return
		}
	}
}

func (l *line) operand(list ...string) {
	for _, s := range list {
		l.take(s)
		l.operands = append(l.operands, s)
		if l.err != nil {
			return
		}
	}
}

func (l *line) count(n uint32) { l.flag("number", strconv.FormatUint(uint64(min(n, 1<<30)), 10)) }

func (l *line) time(name string, t *timestamppb.Timestamp) {
	if t != nil {
		l.flag(name, l.instant(name, t))
	}
}

// instant formats a time that commands can parse and compute with: nanoseconds since 1970 in 64
// bits, where 0 means no time.
func (l *line) instant(name string, t *timestamppb.Timestamp) string {
	at := t.AsTime()
	if t.CheckValid() != nil || at.Year() < 1678 || at.Year() > 2261 {
		l.fail(fmt.Errorf("%s is no time between the years 1678 and 2261", name))
		return ""
	}
	if at.UnixNano() == 0 {
		at = at.Add(1)
	}
	return at.Format(time.RFC3339Nano)
}

func (l *line) length(name string, d *durationpb.Duration) {
	if d == nil {
		return
	}
	if d.CheckValid() != nil || d.AsDuration() <= 0 || d.GetSeconds() > 1<<33 {
		l.fail(fmt.Errorf("%s must be longer than nothing and shorter than 200 years", name))
		return
	}
	l.flag(name, d.AsDuration().String())
}
