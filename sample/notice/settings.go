package notice

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// settings holds the last values of what an administrator can change, by metric and instance.
type settings map[settingID]*setting

type settingID struct{ metric, key string }

type setting struct {
	value metric.Value
	// recalled is set while the value is one of an earlier recording.
	recalled bool
	// told counts the changes reported since the stamp.
	told  int
	since metric.Stamp
}

const (
	// mostTold is how often a setting that some program turns to and fro is reported,
	mostTold = 4
	// until toldAgain has passed.
	toldAgain = int64(time.Hour)
	// mostSettings limits the map: instances that are gone are not removed one by one.
	mostSettings = 20000
)

// Outlasts reports whether a setting is one of the machine that counts from one recording to the
// next: hardware comes and goes between them, and texts name the version of the system, which has
// an event of its own.
func Outlasts(d *metric.Desc) bool {
	return isSetting(d) && d.Class == metric.Constrained && d.Indom == "" && d.Type != metric.String && !strings.HasPrefix(d.Name, "hinv.")
}

// recall takes in the values that settings had at the end of the recording before.
func (s settings) recall(values map[string]metric.Value) {
	for name, v := range values {
		s[settingID{metric: name}] = &setting{value: v, recalled: true}
	}
}

// alike reports whether two values differ by so little that the kernel may have worked them out
// from the memory that it found, of which there is a little more or less after each start.
func alike(was, is metric.Value) bool {
	a, b := was.Number(), is.Number()
	return math.Abs(a-b) <= 0.05*math.Max(math.Abs(a), math.Abs(b))
}

// isSetting reports whether d keeps its value until an administrator or a program changes it.
func isSetting(d *metric.Desc) bool {
	return d.Sem == metric.Discrete && (d.Class == metric.Constrained || d.Class == metric.Static)
}

func (s settings) look(b *metric.Block, col int, events []metric.Event) []metric.Event {
	d := b.Group.Metrics[col]
	for row, in := range b.Rows {
		v := b.Cols[col].At(d.Type, row)
		if v.Miss != metric.Present {
			continue
		}
		id := settingID{metric: d.Name}
		if in != nil {
			id.key = in.Key
		}
		old := s[id]
		if old == nil {
			if len(s) >= mostSettings {
				clear(s)
			}
			v.Str = strings.Clone(v.Str)
			s[id] = &setting{value: v}
			continue
		}
		was, recalled := old.value, old.recalled
		old.recalled = false
		if was.Bits == v.Bits && was.Str == v.Str {
			continue
		}
		v.Str = strings.Clone(v.Str)
		old.value = v
		if recalled && (was.Type != v.Type || alike(was, v)) {
			continue
		}
		if e, ok := old.tell(d, in, was, b.At, recalled); ok {
			events = append(events, e)
		}
	}
	return events
}

// tell makes the event for a change, unless there were too many.
func (s *setting) tell(d *metric.Desc, in *metric.Instance, was metric.Value, at metric.Stamp, recalled bool) (metric.Event, bool) {
	if at.Cont-s.since.Cont >= toldAgain {
		s.told, s.since = 0, at
	}
	if s.told >= mostTold {
		return metric.Event{}, false
	}
	s.told++
	e := metric.Event{At: at, Kind: metric.EventTunableChange, Labels: append(change(was.String(), s.value.String()), metric.Label{Name: "metric", Value: d.Name})}
	name := d.Name
	if in != nil {
		name += "[" + in.Name + "]"
		e.Indom, e.Key = d.Indom, in.Key
	}
	e.Text = fmt.Sprintf("%s was changed from %s to %s", name, shown(was), shown(s.value))
	if recalled {
		e.Text += " while nothing was recorded"
	}
	if s.told == mostTold {
		e.Text += "; it changes again and again, and further changes are not told for an hour"
	}
	return e, true
}

func shown(v metric.Value) string {
	text := v.String()
	if v.Type == metric.String && (text == "" || strings.ContainsAny(text, " \t,")) {
		return strconv.Quote(text)
	}
	return text
}
