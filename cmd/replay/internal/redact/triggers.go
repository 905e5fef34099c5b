package redact

import (
	"regexp"
	"strings"
	"sync"

	"tachograph/sample/metric"
)

// triggerText maps the sentence of a trigger: its name, the instance, the condition and the
// outcome. The user chooses the names in it, and a process may have a name with words that the
// recorder uses.
func (m *Mapping) triggerText(e *metric.Event) string {
	name, when := e.Label("trigger"), e.Label("when")
	head, rest, ok := strings.Cut(e.Text, when)
	head, named := strings.CutPrefix(head, name+": ")
	if !ok || !named || when == "" {
		return m.sentence(e.Text)
	}
	text := m.sentence(name) + ": "
	if instance := strings.TrimSuffix(head, ": "); instance != "" {
		text += m.domain(e.Indom)(m, &metric.Instance{Key: e.Key, Name: instance}).Name + ": "
	}
	return text + m.sentence(when) + m.sentence(rest)
}

// numberedIn matches a process as the recorder names it within a sentence, up to the colon after
// it.
var numberedIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?: )(\d{6,} .*?)(: .*)$`) })

// reason maps why stacks were sampled: the sentence of a trigger, or a user's words.
func (m *Mapping) reason(s string) string {
	if p := numberedIn().FindStringSubmatch(s); p != nil {
		return m.sentence(p[1]) + m.processName(p[2]) + m.sentence(p[3])
	}
	return m.sentence(s)
}
