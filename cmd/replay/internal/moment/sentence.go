package moment

import (
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Sentence says where the instant lies in the recording, with times as the zone's clocks showed
// them: "asleep 22:30 to 03:00; last sample 22:29:59, next 03:00:02". Times on another day than
// the instant's include the day. It is empty where the machine was recorded. The commands about an
// instant print it before everything else.
func Sentence(s *query.Stance, zone *time.Location) string {
	c := clock{zone: zone, at: time.Unix(0, s.At).In(zone)}
	switch s.State {
	case query.Running:
		return ""
	case query.Unbegun:
		if s.After == 0 {
			return "before anything was recorded"
		}
		return "before the recording: its first sample is of " + c.exact(s.After)
	case query.Over:
		text := "after the recording"
		if b := s.Break; b != nil {
			text = endings[b.Kind] + " " + c.exact(b.From)
		}
		return text + "; last sample " + c.exact(s.Before) + ", none after it"
	}
	b := s.Break
	tell := c.exact
	if b.Length() >= 10*time.Minute {
		tell = c.minute
	}
	text := doing[s.State] + " " + tell(b.From) + " to " + tell(b.To)
	if s.State == query.Unrecorded {
		if why := reason(b.Text); why != "" {
			text += " (" + why + ")"
		}
	}
	return text + "; last sample " + c.exact(s.Before) + ", next " + c.exact(s.After)
}

// doing says what machines do in breaks.
var doing = map[query.State]string{
	query.Asleep: "asleep", query.Off: "off", query.Panicked: "down after a panic", query.Unrecorded: "not recorded",
}

// endings says how a recording ends, by the kind of its last event.
var endings = map[metric.EventKind]string{
	metric.EventSleep: "asleep since", metric.EventShutdown: "off since", metric.EventPanic: "down after a panic since",
	metric.EventStop: "not recorded since", metric.EventGap: "not recorded since",
}

// reason returns why nothing was recorded, without how long that was, as the sentence already
// says that.
func reason(text string) string {
	text, _, _ = strings.Cut(text, " for ")
	if text == "nothing was recorded" {
		return ""
	}
	return text
}

// clock writes times near an instant.
type clock struct {
	zone *time.Location
	at   time.Time
}

func (c clock) exact(wall int64) string  { return c.format(wall, "15:04:05") }
func (c clock) minute(wall int64) string { return c.format(wall, "15:04") }

// format writes a time, with its day and the name of its zone where these are not the instant's.
func (c clock) format(wall int64, layout string) string {
	t := time.Unix(0, wall).In(c.zone)
	if t.YearDay() != c.at.YearDay() || t.Year() != c.at.Year() {
		layout = "2006-01-02 " + layout
	}
	_, offset := t.Zone()
	if _, here := c.at.Zone(); offset != here {
		layout += " MST"
	}
	return t.Format(layout)
}
