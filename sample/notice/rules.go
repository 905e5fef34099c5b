package notice

import (
	"fmt"
	"time"

	"tachograph/sample/metric"
)

// A rule decides which values of one metric deserve an event.
type rule struct {
	metric string
	// instance is the name of the instance to look at; "" for metrics without instances.
	instance string
	kind     metric.EventKind
	judge    judge
}

// A judge looks at one value after the other and returns the text of an event; "" for no event.
type judge interface {
	look(v metric.Value, at metric.Stamp) (text string, labels []metric.Label)
}

// rules makes a fresh set, because each rule's judge remembers what it saw.
func rules() []*rule {
	return []*rule{
		{metric: "power.source", kind: metric.EventPower, judge: &state{
			began: "the machine runs on %[2]s now, before that on %[1]s"}},
		// The sentence is that of an update that was found at the start of a recording.
		{metric: "kernel.uname.distro", kind: metric.EventUpdate, judge: &state{began: "%[1]s became %[2]s"}},
		{metric: "thermal.pressure.state", kind: metric.EventThrottle, judge: &state{
			calm: "Nominal", began: "the system throttles itself against heat: %[2]s", ended: "the system no longer throttles itself against heat, after %s"}},
		{metric: "kern.memorystatus_vm_pressure_level", kind: metric.EventMemory, judge: &state{
			calm: "1", words: map[string]string{"1": "normal", "2": "warning", "4": "critical"},
			began: "memory is short: the kernel says %[2]s", ended: "memory is no longer short, after %s"}},
		{metric: "kernel.all.pressure.memory.full.avg", instance: "10 second", kind: metric.EventMemory, judge: &threshold{
			// Users notice when nothing can run for ten percent of the time for lack of memory.
			over: 10, under: 1,
			began: "memory is short: all processes waited for it %.0f %% of ten seconds", ended: "memory is no longer short, after %s"}},
		{metric: "mem.vmstat.oom_kill", kind: metric.EventMemory, judge: &count{
			one: "the kernel killed a process for lack of memory", many: "the kernel killed %d processes for lack of memory"}},
	}
}

// state reports each change of a value that is one of a few words.
type state struct {
	// calm is the value in which all is well; "" where no value is better than another.
	calm string
	// words translates values for the text; values that are not in it stay as they are.
	words map[string]string
	// began takes the old and the new word, ended how long the value was not calm.
	began, ended string

	known bool
	is    string
	from  metric.Stamp // when it stopped being calm
}

func (s *state) look(v metric.Value, at metric.Stamp) (string, []metric.Label) {
	is, was := v.String(), s.is
	first := !s.known
	s.known, s.is = true, is
	switch {
	case !first && is == was, first && (s.calm == "" || is == s.calm):
		return "", nil
	case s.calm != "" && is == s.calm:
		return fmt.Sprintf(s.ended, span(s.from, at)), append(period(s.from, at), change(s.word(was), s.word(is))...)
	case s.calm != "" && (first || was == s.calm):
		s.from = at
	}
	return fmt.Sprintf(s.began, s.word(was), s.word(is)), change(s.word(was), s.word(is))
}

func (s *state) word(value string) string {
	if w := s.words[value]; w != "" {
		return w
	}
	return value
}

// threshold reports when a number rises above one mark, and when it has fallen below a lower
// one. A number that wavers between the two is reported once.
type threshold struct {
	over, under  float64
	began, ended string // began takes the number, ended how long it lasted

	high bool
	from metric.Stamp
}

func (t *threshold) look(v metric.Value, at metric.Stamp) (string, []metric.Label) {
	switch x := v.Number(); {
	case !t.high && x >= t.over:
		t.high, t.from = true, at
		return fmt.Sprintf(t.began, x), nil
	case t.high && x < t.under:
		t.high = false
		return fmt.Sprintf(t.ended, span(t.from, at)), period(t.from, at)
	}
	return "", nil
}

// count reports increases of a counter that rarely moves.
type count struct {
	one, many string

	known bool
	last  uint64
}

func (c *count) look(v metric.Value, _ metric.Stamp) (string, []metric.Label) {
	n := v.Bits - c.last
	told := c.known && v.Bits > c.last
	c.known, c.last = true, v.Bits
	switch {
	case !told:
		return "", nil
	case n == 1:
		return c.one, nil
	}
	return fmt.Sprintf(c.many, n), []metric.Label{{Name: "count", Value: fmt.Sprint(n)}}
}

func change(was, is string) []metric.Label {
	return []metric.Label{{Name: "was", Value: was}, {Name: "is", Value: is}}
}

// period returns the labels of an event that ends a period, see metric.Event.
func period(from, to metric.Stamp) []metric.Label {
	return metric.Period(from.Time(), time.Duration(to.Cont-from.Cont))
}

func span(from, to metric.Stamp) string {
	return time.Duration(to.Cont - from.Cont).Round(time.Second).String()
}
