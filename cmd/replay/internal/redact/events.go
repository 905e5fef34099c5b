package redact

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// Event maps an event: its sentence, its labels and its instance.
func (m *Mapping) Event(e metric.Event) (metric.Event, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := e
	if e.Key != "" {
		out.Key = m.domain(e.Indom)(m, &metric.Instance{Key: e.Key}).Key
	}
	out.Labels = m.eventLabels(&e)
	out.Text = m.eventText(&e, out.Labels)
	if !knownKind(e.Kind) {
		out.Kind = metric.EventKind(m.sentence(string(e.Kind)))
	}
	return out, true
}

// A said is a sentence that the recorder writes, with the maps for the names in it.
type said struct {
	sentence func() *regexp.Regexp
	names    []func(m *Mapping, s string) string // for the parts in parentheses
}

func says(expr string, names ...func(*Mapping, string) string) said {
	return said{regular("^" + expr + "$"), names}
}

// zoneNames matches the names of the tz database, and offsets.
var zoneNames = pattern(`(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific|US)(/[A-Z][A-Za-z0-9_+-]{1,20}){1,2}|` +
	`UTC|GMT|UCT|Zulu|Local|[CEMPW]ET|[ECMP]ST(5EDT|6CDT|7MDT|8PDT)?|HST|MET|PRC|ROC|ROK|[+-]\d\d:?\d\d`)

// isZone reports whether s names a time zone.
func isZone(s string) bool {
	if s == "" || zoneNames(s) {
		return true
	}
	if !zoneLike(s) {
		return false
	}
	_, err := time.LoadLocation(s)
	return err == nil
}

var zoneLike = pattern(`[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*){0,2}`)

func zone(m *Mapping, s string) string { return m.shaped(isZone, aName, s) }

func asIs(_ *Mapping, s string) string { return s }

func numberedName(m *Mapping, s string) string { return m.processName(s) }

// sentencesOf are the sentences about things with names of their own, which can contain any
// words.
var sentencesOf = map[metric.EventKind][]said{
	metric.EventProcessStart: {says(`(.*) started`, numberedName)},
	metric.EventProcessExec:  {says(`(.*) replaced (.*) \(exec\)`, numberedName, (*Mapping).process)},
	metric.EventProcessExit: {
		says(`(.*) ended((?:: exit -?\d+|: signal \d+(?: core)?)?)`, numberedName, asIs),
		says(`(.*) ended((?:: exit -?\d+|: signal \d+(?: core)?)?), ended by the kernel: (.*)`, numberedName, asIs, (*Mapping).sentence),
	},
	metric.EventProcessExits: {
		says(`(\d+ more short-lived processes) of other names ended, too many for a row each`, asIs),
		says(`\d+ more short-lived processes called (.*) ended, too many for a row each`, (*Mapping).process),
	},
	metric.EventMount: {
		says(`(.*) was mounted on (.*)`, (*Mapping).device, (*Mapping).mountPoint),
		says(`(.*) was unmounted from (.*)`, (*Mapping).device, (*Mapping).mountPoint),
	},
	metric.EventDevice: {
		says(`disk (.*) (?:appeared|went away)`, func(m *Mapping, s string) string { return m.shaped(diskNames, aDevice, s) }),
		says(`(?:network )?interface (.*) (?:appeared|went away)`, func(m *Mapping, s string) string { return m.shaped(interfaceNames, anIface, s) }),
		says(`graphics processor (.*) (?:appeared|went away)`, func(m *Mapping, s string) string {
			return m.domain("gpu")(m, &metric.Instance{Name: s}).Name
		}),
	},
	metric.EventOwner: {
		says(`(\d+ more owners came and \d+ went), too many for an event each`, asIs),
		says(`(.*): the kernel killed \d+ process(?:es)?(?: at its memory limit(?: of `+size+`)?| for lack of memory)(?:, and it ended|, in groups below it that ended)?`+again, ownerTitle),
		says(`(.*): the kernel killed \d+ process(?:es)? at the memory limit of (.*), `+size+`(?:, and it ended|, in groups below it that ended)?`+again, ownerTitle, ownerTitle),
		says(`(.*) was held back by its quota(?: of `+share+`)?, which it used up in \d+ % of the periods of a minute`+again, ownerTitle),
		says(`(.*) is no longer held back by its quota, after [0-9hms.]+`+again, ownerTitle),
		says(`(.*): [a-z ]+ is `+limit+` now, before that `+limit+again, ownerTitle),
		says(`(.*) (?:started|ended|was restarted)`+again, ownerTitle),
	},
	metric.EventTimeZone: {says(`the time zone changed from (\S+) to (\S+)`, zone, zone)},
	metric.EventStacks: {
		says(`stacks of (.*) were sampled for \d+\.\d s, \d+ times`, sampled),
		says(`stacks of (.*) were sampled for \d+\.\d s, \d+ times: (.*)`, sampled, (*Mapping).reason),
	},
	metric.EventPanic: {says(`the kernel left a panic report: (.*)`, (*Mapping).file)},
	metric.EventShip:  {says(`archive shipped: (.*)`, (*Mapping).file)},
}

// Parts of the sentences about owners.
const (
	size  = `[0-9.e+]+ [KMGTPE]?B`
	share = `[0-9.e+]+ % of a processor`
	limit = `(?:none|\d+|` + size + `|` + share + `)`
	again = `(?:; it happens again and again, and is not reported for an hour)?`
)

// ownerTitle maps what a sentence calls the owner of a control group.
func ownerTitle(m *Mapping, s string) string {
	kind, name, _ := strings.Cut(s, " ")
	mapped := func(kind, name string) string {
		name, _ = owners[kind](m, name)
		return kind + " " + name
	}
	switch kind {
	case metric.OwnerSession:
		if number, _, ok := strings.Cut(name, " of "); ok && ownDigits(number) {
			return mapped(kind, name)
		}
	case metric.OwnerContainer:
		if box, in, ok := strings.Cut(name, " of pod "); ok {
			return mapped(kind, box) + " of " + mapped(metric.OwnerPod, in)
		}
		return mapped(kind, name)
	case metric.OwnerPod:
		return mapped(kind, name)
	case "control":
		if path, ok := strings.CutPrefix(name, "group "); ok {
			return "control group " + m.groupPath(path)
		}
	}
	return m.groupPath(s)
}

var ownDigits = pattern(`c?\d+`)

// eventText maps the sentence of an event. If it is a sentence that the recorder writes, the
// kinds of its names are known.
func (m *Mapping) eventText(e *metric.Event, labels []metric.Label) string {
	if written(e) {
		return writtenText(e, labels)
	}
	switch e.Kind {
	case metric.EventTunableChange:
		return m.changeText(e, labels)
	case metric.EventConfig:
		var words []string
		for _, l := range labels {
			words = append(words, l.Name+" to "+l.Value)
		}
		return "the configuration was changed: " + strings.Join(words, "; ")
	case metric.EventUpdate:
		return m.known(m.updateText(e))
	case metric.EventTrigger:
		return m.triggerText(e)
	}
	for _, s := range sentencesOf[e.Kind] {
		at := s.sentence().FindStringSubmatchIndex(e.Text)
		if at == nil {
			continue
		}
		var b strings.Builder
		done := 0
		for i, f := range s.names {
			from, to := at[2*i+2], at[2*i+3]
			b.WriteString(e.Text[done:from])
			b.WriteString(f(m, e.Text[from:to]))
			done = to
		}
		b.WriteString(e.Text[done:])
		return b.String()
	}
	return m.sentence(e.Text)
}

// changeText returns the sentence about a changed setting, from its mapped labels.
func (m *Mapping) changeText(e *metric.Event, labels []metric.Label) string {
	mapped := metric.Event{Labels: labels}
	name := mapped.Label("metric")
	if name == "" {
		return m.sentence(e.Text)
	}
	subject := name
	if i := strings.IndexByte(e.Text, '['); i == len(name) && e.Indom != "" {
		if j := strings.Index(e.Text, "] was changed from "); j > i {
			subject += "[" + m.domain(e.Indom)(m, &metric.Instance{Name: e.Text[i+1 : j]}).Name + "]"
		}
	}
	text := subject + " was changed"
	if was, is := mapped.Label("was"), mapped.Label("is"); was != "" || is != "" {
		text += " from " + was + " to " + is
	}
	if strings.Contains(e.Text, meanwhile) {
		text += meanwhile
	}
	if i := strings.Index(e.Text, "; it changes again and again"); i >= 0 {
		text += "; it changes again and again, and further changes are not told for an hour"
	}
	return text
}

// meanwhile ends the sentence about a setting that was changed between two recordings.
const meanwhile = " while nothing was recorded"

// updateText returns the sentence about another version of the system unchanged, if it says what
// its labels say.
func (m *Mapping) updateText(e *metric.Event) string {
	if was, is := e.Label("was"), e.Label("is"); was != "" && e.Text == was+" became "+is {
		return e.Text
	}
	return m.sentence(e.Text)
}

// file maps the path of a file that is not a program.
func (m *Mapping) file(s string) string {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		if last {
			stem, suffix := part, ""
			if j := strings.LastIndexByte(part, '.'); j > 0 && slices.Contains(suffixes, part[j:]) {
				stem, suffix = part[:j], part[j:]
			}
			parts[i] = m.learn(aFile, stem) + suffix
			break
		}
		parts[i] = m.part(parts, i, part, false, aFile)
	}
	return strings.Join(parts, "/")
}

// suffixes are the suffixes that show what a file is.
var suffixes = []string{".tacho", ".live", ".damaged", ".panic", ".ips", ".txt", ".log"}

// eventLabelMaps has the maps of event labels; other labels are dropped.
var eventLabelMaps = withOwners(map[string]labelMap{
	"pid": digits, "start": times, "from": times, "last_seen": times, "written": times,
	"seconds": numeric, "count": numeric, "failed": numeric, "status": numeric, "unseen": numeric, "step": numeric,
	"came": numeric, "went": numeric, "limit": numeric, "percent": numeric, "runs": numeric,
	"rate": numeric, "samples": numeric, "missed": numeric, "gone": numeric, "suspensions": numeric,
	"suspended_median_ns": numeric, "suspended_longest_ns": numeric, "task_ports": numeric, "why_failed": sentenceLabel, "why_no_python": sentenceLabel,
	"waits": numeric, "waits_lost": numeric, "why_no_waits": sentenceLabel,
	"rounds": numeric, "walk_errors": numeric, "cut": numeric, "hung": numeric, "suspended_ns": numeric,
	"suspended_up_to_ns": like(pattern(`(\d+|longer):\d+( (\d+|longer):\d+)*`)),
	"how":                like(pattern(`exit -?\d+|idle exit|signal \d+( core)?|mach|stackshot|perf|proc`)),
	"cause":              sentenceLabel,
	"uid":                ids,
	"parent":             numberKeys,
	"name":               func(m *Mapping, s string) (string, bool) { return m.process(s), true },
	"was":                sentenceLabel, "is": sentenceLabel,
	"exe":    paths,
	"device": labelsOfMounts["device"], "type": labelsOfMounts["type"],
	"path": files, "report": files,
	"what": sentenceLabel, "reason": sentenceLabel, "error": sentenceLabel, "why": sentenceLabel,
	"class":   like(isClass),
	"source":  like(ownWords),
	"metric":  like(pattern(`[A-Za-z0-9_.]{1,100}`)),
	"metrics": like(pattern(`[A-Za-z0-9_. ]{1,1000}`)),
	"pair":    sentenceLabel, "because": sentenceLabel,
	"model": labelsOfDevices["model"], "vendor": labelsOfDevices["vendor"], "driver": labelsOfDevices["driver"],
	"kind": labelsOfDevices["kind"], "index": digits, "rotational": digits, "removable": digits,
})

var numeric = like(pattern(`[+-]?\d+(\.\d+)?([eE][+-]?\d+)?`))

func sentenceLabel(m *Mapping, s string) (string, bool) { return m.sentence(s), true }

func files(m *Mapping, s string) (string, bool) { return m.file(s), true }

// eventLabels maps the labels of an event. The meaning of a label can depend on the kind of the
// event.
func (m *Mapping) eventLabels(e *metric.Event) []metric.Label {
	if written(e) {
		return m.labelled(e.Labels, writtenLabels)
	}
	switch e.Kind {
	case metric.EventConfig:
		var out []metric.Label
		for _, l := range e.Labels {
			if settingName(l.Name) {
				out = append(out, metric.Label{Name: l.Name, Value: m.setting(l.Name, l.Value)})
			}
		}
		return out
	case metric.EventProcessExec:
		return m.labelled(e.Labels, execLabels)
	case metric.EventTimeZone:
		return m.labelled(e.Labels, zoneLabels)
	case metric.EventUpdate:
		return m.labelled(e.Labels, updateLabels)
	case metric.EventTunableChange:
		return m.changeLabels(e)
	}
	var out []metric.Label
	for _, l := range e.Labels {
		f := eventLabelMaps[l.Name]
		switch {
		case f != nil:
			if v, keep := f(m, l.Value); keep {
				out = append(out, metric.Label{Name: l.Name, Value: v})
			}
		case described()[l.Name]:
			// The last value of a metric of a process that has ended.
			if v, keep := m.valueOf(l.Name, l.Value); keep {
				out = append(out, metric.Label{Name: l.Name, Value: v})
			}
		case isClass(l.Name):
			// How many ticks of a class are missing.
			if v, keep := numeric(m, l.Value); keep {
				out = append(out, metric.Label{Name: l.Name, Value: v})
			}
		}
	}
	return out
}

var (
	execLabels = withLabel("was", func(m *Mapping, s string) (string, bool) { return m.process(s), true })
	zoneLabels = map[string]labelMap{"from": like(isZone), "to": like(isZone)}
	// The name of a system stays, as in the header.
	updateLabels = map[string]labelMap{
		"was": func(m *Mapping, s string) (string, bool) { return m.known(s), true },
		"is":  func(m *Mapping, s string) (string, bool) { return m.known(s), true },
	}
)

func withLabel(name string, f labelMap) map[string]labelMap {
	all := make(map[string]labelMap, len(eventLabelMaps))
	for k, v := range eventLabelMaps {
		all[k] = v
	}
	all[name] = f
	return all
}

// valueOf maps the value of a metric in text form.
func (m *Mapping) valueOf(name, s string) (string, bool) {
	if f := texts[name]; f != nil {
		return f(m, s)
	}
	if v, ok := numeric(m, s); ok && numbers[name] == numberAsIs && !dropsNumber(name) {
		return v, true
	}
	if numbers[name] == numberOfAccount {
		return m.idText(s)
	}
	return "", false
}

func (m *Mapping) changeLabels(e *metric.Event) []metric.Label {
	name := e.Label("metric")
	var out []metric.Label
	for _, l := range e.Labels {
		switch l.Name {
		case "was", "is":
			if v, keep := m.valueOf(name, l.Value); keep {
				out = append(out, metric.Label{Name: l.Name, Value: v})
			}
		default:
			if f := eventLabelMaps[l.Name]; f != nil {
				if v, keep := f(m, l.Value); keep {
					out = append(out, metric.Label{Name: l.Name, Value: v})
				}
			}
		}
	}
	return out
}

var kinds = []metric.EventKind{
	metric.EventBoot, metric.EventShutdown, metric.EventPanic, metric.EventStart, metric.EventStop, metric.EventSleep,
	metric.EventWake, metric.EventClockStep, metric.EventTimeZone, metric.EventGap, metric.EventConfig,
	metric.EventProcessStart, metric.EventProcessExit, metric.EventProcessExec, metric.EventProcessExits,
	metric.EventErrorBegin, metric.EventErrorEnd, metric.EventOverrun, metric.EventBudget, metric.EventRotate,
	metric.EventShip, metric.EventRemoved, metric.EventTCPGate, metric.EventTunableChange, metric.EventPower,
	metric.EventThrottle, metric.EventMemory, metric.EventUpdate, metric.EventMount, metric.EventDevice, metric.EventStacks,
	metric.EventTrigger, metric.EventOwner, metric.EventDistrustBegin, metric.EventDistrustEnd,
}

func knownKind(k metric.EventKind) bool {
	return slices.Contains(kinds, k) || slices.Contains(metric.SaidKinds, k)
}
