package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Whose is an owner as sentences name it, of the kind that people mean first; the zero value says
// that none is known.
type Whose struct{ Kind, Name string }

// themselves are services that say no more than the names of their processes: that of the kernel's
// threads, and that of systemd itself.
var themselves = []string{"kernel", "init.scope"}

// WhoseIs returns whose a process is, or a control group.
func WhoseIs(in *metric.Instance) Whose {
	kind, name := in.MainOwner()
	if kind == metric.OwnerService && slices.Contains(themselves, name) {
		return Whose{}
	}
	return Whose{kind, name}
}

// Key returns a text that no other owner has; "" for none.
func (w Whose) Key() string {
	if w.Kind == "" {
		return ""
	}
	return w.Kind + "\x00" + w.Name
}

// IsOwnerKey reports whether a text is the key of an owner, and no name of a process.
func IsOwnerKey(key string) bool { return strings.Contains(key, "\x00") }

// Words names an owner and, unless n is 0, the number of its processes: "Safari (31 processes)",
// "container web". All sentences about owners have their words from here.
func (w Whose) Words(n int) string {
	words := w.Name
	switch {
	case w.Kind == metric.OwnerContainer || w.Kind == metric.OwnerPod:
		words = w.Kind + " " + w.Name
	case w.Kind == metric.OwnerSession && strings.Contains(w.Name, " of "):
		words = "session " + w.Name
	case w.Kind == metric.OwnerSession:
		words = "terminal " + w.Name
	}
	switch n {
	case 0:
		return words
	case 1:
		return words + " (1 process)"
	}
	return fmt.Sprintf("%s (%d processes)", words, n)
}

// Beside returns what a sentence adds to the name of a process to say whose it is, such as " in
// backup.service"; nothing where that says no more than the name.
func (w Whose) Beside(process string) string {
	switch {
	case w == Whose{} || w.repeats(process):
		return ""
	case w.Kind == metric.OwnerApp:
		return " of " + w.Words(0)
	}
	return " in " + w.Words(0)
}

// units are the endings of the names of systemd's units.
var units = []string{".service", ".scope", ".socket", ".mount", ".swap"}

// commLength is the length at which Linux cuts the names of processes.
const commLength = 15

// repeats reports whether an owner is only called like a process: "nginx.service" like "nginx",
// "Safari" like "Safari Networking", "com.apple.Finder" like "Finder".
func (w Whose) repeats(process string) bool {
	name, process := strings.ToLower(w.Name), strings.ToLower(process)
	for _, unit := range units {
		name = strings.TrimSuffix(name, unit)
	}
	for {
		if rest, ok := strings.CutPrefix(process, name); ok && !goesOn(rest) || len(process) >= commLength && strings.HasPrefix(name, process) {
			return true
		}
		_, last, ok := strings.Cut(name, ".")
		if !ok || w.Kind != metric.OwnerService {
			return false
		}
		name = last
	}
}

// goesOn reports whether a text that follows a name makes it another word.
func goesOn(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// WhoseWas returns whose a process was that an event is about.
func WhoseWas(a Archive, e *store.Event) Whose {
	whose := WhoseIs(&metric.Instance{Labels: e.Labels})
	if e.Key == "" || !OwnersRecorded(a) {
		return whose
	}
	for life := range a.Lives("process", e.At.Wall-endSeen, e.At.Wall, e.Key) {
		if life.Archive.Host.ID == e.Archive.Host.ID {
			whose = WhoseIs(life.Instance)
		}
	}
	return whose
}

// endSeen is how long before its end a process is looked for: it was read no longer ago.
const endSeen = int64(60e9)

// OwnersRecorded reports whether an archive says whose processes are.
func OwnersRecorded(a Archive) bool {
	return slices.ContainsFunc(a.Archives(), func(info *store.ArchiveInfo) bool { return ownersIn(a, info) })
}

// mostOwners bounds the owners that are kept for a name: a name with more belongs to none of them.
const mostOwners = 64

// Belongings say whose the processes of each name are.
type Belongings map[string][]Whose

// BelongingsOf returns whose the processes of each name were in some windows; nothing if the
// archive does not say so.
func BelongingsOf(a Archive, windows ...Window) Belongings {
	b := make(Belongings)
	if !OwnersRecorded(a) {
		return b
	}
	for _, w := range windows {
		for life := range a.Lives("process", w.From, w.To) {
			name, whose := ProcessName(life.Instance), WhoseIs(life.Instance)
			list, known := b[name]
			if w.Wants(life.Archive.Host.ID) && (known || len(b) < mostNames) && len(list) < mostOwners && !slices.Contains(list, whose) {
				b[name] = append(list, whose)
			}
		}
	}
	return b
}

// Of returns whose all processes of a name were; the zero value if they have several owners.
func (b Belongings) Of(name string) Whose {
	if list := b[name]; len(list) == 1 {
		return list[0]
	}
	return Whose{}
}

// Names returns the names of an owner's processes, at most so many.
func (b Belongings) Names(whose Whose, most int) (names []string) {
	for name, list := range b {
		if slices.Contains(list, whose) {
			if names = append(names, name); len(names) == most {
				break
			}
		}
	}
	return names
}

// TopOwners ranks owners several ways at once, as TopNames does names. What belongs to no owner is
// left out.
func TopOwners(a Archive, w Window, n int, bys ...By) ([]*Ranking, error) {
	return topGroups(a, w, PerOwner, n, bys...)
}
