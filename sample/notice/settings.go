package notice

import (
	"fmt"
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
		if old.value.Bits == v.Bits && old.value.Str == v.Str {
			continue
		}
		was := old.value
		v.Str = strings.Clone(v.Str)
		old.value = v
		if e, ok := old.tell(d, in, was, b.At); ok {
			events = append(events, e)
		}
	}
	return events
}

// tell makes the event for a change, unless there were too many.
func (s *setting) tell(d *metric.Desc, in *metric.Instance, was metric.Value, at metric.Stamp) (metric.Event, bool) {
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
