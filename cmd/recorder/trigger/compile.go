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

// Stall is the metric that is never recorded: how much later the fast class was
// read than it was due, which is how a recorder sees that nothing ran.
const Stall = "recorder.stall"

var stallGroup = &metric.Group{Name: Stall, Metrics: []*metric.Desc{{
	Name: Stall, Type: metric.U64, Sem: metric.Instant, Units: metric.Nanoseconds, Class: metric.Fast,
	Help: "by how much the fast class was read later than it was due",
}}}

// vocabulary is what conditions may be about.
type vocabulary struct {
	here  map[string]*metric.Desc // what this machine has
	known map[string]*metric.Desc // and what others have
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

// Lookup finds a metric of this machine, else one of any.
func (v *vocabulary) Lookup(name string) *metric.Desc {
	if d := v.here[name]; d != nil {
		return d
	}
	return v.known[name]
}

// Metrics are what is proposed for what nobody knows.
func (v *vocabulary) Metrics() []*metric.Desc {
	all := make([]*metric.Desc, 0, len(v.here))
	for _, d := range v.here {
		all = append(all, d)
	}
	return all
}

// Set are the triggers of a configuration, ready to be watched.
type Set struct{ list []*trigger }

// Compile checks the triggers of cfg against what this machine offers. All
// mistakes are told. A condition on what only another system has is none: the
// trigger is idle, and says so.
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
	if c.Stacks.Of == "process" && !metric.PerBoot(t.indom) {
		return nil, cfg.TriggerMistake(c, `wants the stacks of a process, but its condition is about none: write of = "all", or a condition on a metric of processes that is not summed up`)
	}
	t.idle = whyIdle(cfg, v, cond.Expr)
	return t, nil
}

// mistake is what is wrong with a condition, in one line.
func mistake(err error) string {
	var e *query.ExprError
	if errors.As(err, &e) {
		first, _, _ := strings.Cut(e.Error(), "\n")
		return first
	}
	return err.Error()
}

// whyIdle says why a condition is never looked at; "" where it is.
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

// Lines say of each trigger what it comes to, for who checks a configuration.
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

// does is what t does beside telling.
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

// aDay is the time over which per_day counts.
const aDay = int64(24 * time.Hour)
