package trigger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Stall is a metric that is never recorded: how much later than due the fast class was read. It
// shows a recorder that nothing ran for a while.
const Stall = "recorder.stall"

var stallGroup = &metric.Group{Name: Stall, Metrics: []*metric.Desc{{
	Name: Stall, Type: metric.U64, Sem: metric.Instant, Units: metric.Nanoseconds, Class: metric.Fast,
	Help: "by how much the fast class was read later than it was due",
}}}

// vocabulary is the metrics that conditions may use.
type vocabulary struct {
	here  map[string]*metric.Desc // metrics of this machine
	known map[string]*metric.Desc // metrics of any machine
}

func newVocabulary(descs []*metric.Desc) *vocabulary {
	v := &vocabulary{here: make(map[string]*metric.Desc), known: make(map[string]*metric.Desc)}
	for _, d := range append(descs[:len(descs):len(descs)], stallGroup.Metrics...) {
		v.here[d.Name] = d
	}
	for _, p := range catalog.Platforms {
		for _, d := range catalog.For(p) {
			if v.known[d.Name] == nil {
				v.known[d.Name] = d
			}
		}
	}
	return v
}

// Lookup finds a metric of this machine, or else one of any machine.
func (v *vocabulary) Lookup(name string) *metric.Desc {
	if d := v.here[name]; d != nil {
		return d
	}
	return v.known[name]
}

// Metrics returns the metrics that may be suggested in place of an unknown name.
func (v *vocabulary) Metrics() []*metric.Desc {
	all := make([]*metric.Desc, 0, len(v.here))
	for _, d := range v.here {
		all = append(all, d)
	}
	return all
}

// Set is the triggers of a configuration, ready to be watched.
type Set struct{ list []*trigger }

// Compile checks the triggers of cfg against what this machine offers. It reports all mistakes.
// A condition on a metric that only other systems have is no mistake: the trigger is idle, and
// its status says so.
func Compile(cfg *config.Config, descs []*metric.Desc) (*Set, error) {
	s := &Set{}
	v := newVocabulary(descs)
	var mistakes []error
	for i := range cfg.Triggers {
		t, err := compile(cfg, v, &cfg.Triggers[i])
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		s.list = append(s.list, t)
	}
	return s, errors.Join(mistakes...)
}

func compile(cfg *config.Config, v *vocabulary, c *config.Trigger) (*trigger, error) {
	t := &trigger{cfg: *c}
	t.visit = t.look
	if c.Off() {
		t.idle = "it is switched off"
		return t, nil
	}
	cond, err := query.CompileCondition(v, nil, c.When)
	if err != nil {
		return nil, cfg.TriggerMistake(c, "when is no condition: "+mistake(err))
	}
	t.live, t.indom = query.NewLive(cond.Expr), cond.Indom()
	if c.Stacks.Of == "process" && !ofProcesses(t.indom) {
		return nil, cfg.TriggerMistake(c, `wants the stacks of a process, but its condition is about none: write of = "all", or a condition on a metric of processes that is not summed up`)
	}
	t.idle = whyIdle(cfg, v, cond.Expr)
	return t, nil
}

// ofProcesses reports whether the instances of a domain are processes or threads of them.
func ofProcesses(indom string) bool { return indom == "process" || indom == "thread" }

// mistake describes what is wrong with a condition, in one line.
func mistake(err error) string {
	var e *query.ExprError
	if errors.As(err, &e) {
		first, _, _ := strings.Cut(e.Error(), "\n")
		return first
	}
	return err.Error()
}

// whyIdle returns why a condition is never evaluated; "" if it is.
func whyIdle(cfg *config.Config, v *vocabulary, e *query.Expr) string {
	for _, name := range e.Metrics() {
		d := v.here[name]
		switch {
		case d == nil:
			return "this system has no " + name
		case d.Unsupported != "":
			return fmt.Sprintf("%s cannot be read here: %s", name, d.Unsupported)
		case cfg.Interval(cfg.Class(d)) == config.Off:
			return fmt.Sprintf("%s is of the class %s, which is not read", name, cfg.Class(d))
		}
	}
	return ""
}

// Lines describes each trigger, for people who check a configuration.
func (s *Set) Lines() [][2]string {
	var lines [][2]string
	for _, t := range s.list {
		text := t.cfg.When
		if t.cfg.For > 0 {
			text += " for " + config.FormatDuration(t.cfg.For)
		}
		if does := t.does(); does != "" {
			text += ": " + does
		}
		if t.idle != "" {
			text = "idle: " + t.idle
		}
		lines = append(lines, [2]string{t.cfg.Name, text})
	}
	return lines
}

// does describes what t does besides recording an event.
func (t *trigger) does() string {
	var words []string
	if w := t.cfg.Stacks; w.For > 0 {
		words = append(words, fmt.Sprintf("stacks for %s", config.FormatDuration(w.For)))
	}
	if w := t.cfg.Burst; w.For > 0 {
		words = append(words, "burst of "+burstWords(w))
	}
	if len(t.cfg.Run) > 0 {
		words = append(words, "a command")
	}
	return strings.Join(words, ", ")
}

func burstWords(w config.BurstWish) string {
	var names []string
	for _, cl := range w.Classes {
		names = append(names, cl.String())
	}
	text := fmt.Sprintf("%s every %s for %s", strings.Join(names, ", "), config.FormatDuration(w.Every), config.FormatDuration(w.For))
	if w.Before > 0 {
		text += " and the " + config.FormatDuration(w.Before) + " before"
	}
	return text
}

// aDay is the period for which per_day counts.
const aDay = int64(24 * time.Hour)
