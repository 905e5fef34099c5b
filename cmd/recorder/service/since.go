package service

import (
	"fmt"
	"strings"

	"tachograph/config"
	"tachograph/sample/metric"
)

// sinceThen returns events for what has changed since the last run wrote the archive: the
// operating system, the recorder, and its configuration.
func sinceThen(past Past, now metric.Host, recorder string, cfg *config.Config) []metric.Event {
	if past.Host.ID == "" || past.Host.ID != now.ID {
		return nil
	}
	var events []metric.Event
	if was, is := systemWords(past.Host), systemWords(now); was != is {
		events = append(events, metric.Event{Kind: metric.EventUpdate, Text: fmt.Sprintf("%s became %s", was, is),
			Labels: []metric.Label{{Name: "was", Value: was}, {Name: "is", Value: is}}})
	}
	if was, is := past.Recorder, recorder; was != is && was != "" {
		events = append(events, changedRecorder(was, is))
	}
	old, err := config.Parse("the archive's", past.Config)
	if past.Config == "" || err != nil {
		return events // written by a version with other keys
	}
	// The archive lacks the commands, so they cannot be compared.
	old.Archive.OnFinish = cfg.Archive.OnFinish
	old.SameCommands(cfg)
	if e, ok := configChanged(config.Changes(old, cfg)); ok {
		events = append(events, e)
	}
	return events
}

// changedRecorder is the event of another version of the recorder, whose new metrics nobody else
// brought. It is one of software, as package said writes them.
func changedRecorder(was, is string) metric.Event {
	name, before, _ := strings.Cut(was, " ")
	_, now, _ := strings.Cut(is, " ")
	return metric.Event{Kind: metric.EventSoftware, Text: fmt.Sprintf("%s %s → %s", name, before, now), Labels: []metric.Label{
		{Name: "source", Value: name}, {Name: "what", Value: "changed"}, {Name: "package", Value: name}, {Name: "was", Value: before}, {Name: "is", Value: now}}}
}

// systemWords returns the name of the operating system with its version.
func systemWords(h metric.Host) string {
	var words []string
	for _, name := range []string{"product", "build", "version"} {
		if v := h.Label(name); v != "" {
			words = append(words, v)
		}
	}
	return strings.Join(append([]string{h.OS, h.Release}, words...), " ")
}

// configChanged is the event of a changed configuration.
func configChanged(changes []config.Change) (metric.Event, bool) {
	if len(changes) == 0 {
		return metric.Event{}, false
	}
	e := metric.Event{Kind: metric.EventConfig}
	var words []string
	for _, c := range changes {
		words = append(words, fmt.Sprintf("%s from %s to %s", c.Key, c.Was, c.Is))
		e.Labels = append(e.Labels, metric.Label{Name: c.Key, Value: c.Is})
	}
	e.Text = "the configuration was changed: " + strings.Join(words, "; ")
	return e, true
}
