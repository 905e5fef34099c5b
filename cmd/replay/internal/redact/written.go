package redact

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// writtenLabels are the labels of events that the system itself wrote down. Functions, files and
// identifiers of reports are left out, because a name of one's own may be a part of each.
var writtenLabels = withOwners(map[string]labelMap{
	"source": like(writtenWords), "rule": like(writtenWords), "topic": like(writtenWords), "result": like(writtenWords), "what": like(writtenWords),
	"pid": digits, "start": times,
	"bytes": numeric, "seconds": numeric, "restarts": numeric, "more": numeric,
	"exception": like(pattern(`(EXC|KERN)_[A-Z_]+`)),
	"signal":    like(pattern(`SIG[A-Z0-9+]+( \([A-Za-z ]+\))?`)),
	"name":      func(m *Mapping, s string) (string, bool) { return m.process(s), true },
	"by":        func(m *Mapping, s string) (string, bool) { return m.process(s), true },
	"group":     func(m *Mapping, s string) (string, bool) { return m.groupPath(s), true },
	"unit":      func(m *Mapping, s string) (string, bool) { return owners[metric.OwnerService](m, s) },
	"device":    labelsOfMounts["device"],
	"package":   sentenceLabel, "version": sentenceLabel, "was": sentenceLabel, "is": sentenceLabel,
	"reason": sentenceLabel, "limit": sentenceLabel, "used": sentenceLabel,
	"os": func(m *Mapping, s string) (string, bool) { return m.known(s), true },
})

// wordsOfRules are all words for where something was written down, what kind of text it was, and
// what came of it.
var wordsOfRules = wordSet(`
	report kernel journal core dump dpkg dnf dnf5 pacman zypper apk rpm snap flatpak install history pstore apport recorder app bundle
	crash fault segfault trap killed jetsam resource watchdog stackshot gpu cpu wakeups disk writes memory threads hang spin samples shutdown stall reset sleep or wake failure
	sandbox deadlock workflow owner of a lock hung task soft hard lockup rcu workqueue panic oops warning
	remounted shut down error aborted server is back does not answer i/o medium buffer ata exception link scsi nvme timeout raid device mapper
	up deauthenticated transmit connection table full syn flood neighbour machine check corrected pci dma over-current throttled normal critical nvidia xid ring went came
	lines lost unit failed restarted systemd-oomd file system read-only network hardware thermal graphics good none process
	installed removed changed again exit-code signal core-dump oom-kill protocol start-limit-hit done success dependency resources watchdog`)

func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

func writtenWords(s string) bool {
	for _, w := range strings.Fields(s) {
		if !wordsOfRules[strings.ToLower(w)] {
			return false
		}
	}
	return true
}

// reportInstance maps a report whose text was kept; the text itself is left out.
func (m *Mapping) reportInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.names.of(anInstance, in.Key), Name: m.file(in.Name)}
}

// written reports whether the system itself wrote down what an event says.
func written(e *metric.Event) bool {
	return slices.Contains(metric.SaidKinds, e.Kind) || e.Kind == metric.EventPanic && e.Label("source") != ""
}

// writtenText makes the sentence of such an event from its mapped labels: the system's own words
// may have any names in them.
func writtenText(e *metric.Event, labels []metric.Label) string {
	mapped := metric.Event{Labels: labels}
	var words []string
	add := func(before, name string) {
		if v := mapped.Label(name); v != "" {
			words = append(words, strings.TrimSpace(before+" "+v))
		}
	}
	for _, subject := range []string{"name", "unit", "package", "device"} {
		if mapped.Label(subject) != "" {
			add("", subject)
			break
		}
	}
	if pid := mapped.Label("pid"); pid != "" {
		words = append(words, "(pid "+pid+")")
	}
	words = append(words, string(e.Kind)+":")
	add("", "topic")
	add("", "rule")
	add("", "exception")
	add("", "signal")
	add("in", "group")
	add("of", "unit")
	add("was", "was")
	add("is", "is")
	add("more:", "more")
	return strings.TrimSuffix(strings.Join(words, " "), ":")
}
