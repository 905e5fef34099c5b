package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Whose is an owner as sentences name it, of the kind that people mean first; the zero value says
// that none is known.
type Whose struct{ Kind, Name string }

// kernelService is the service of the kernel's threads, which says no more than their names.
const kernelService = "kernel"

// WhoseIs returns whose a process is, or a control group.
func WhoseIs(in *metric.Instance) Whose {
	kind, name := in.MainOwner()
	if kind == metric.OwnerService && name == kernelService {
		return Whose{}
	}
	return Whose{kind, name}
}

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
	if e.Key == "" {
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

// WhoseNames returns whose the processes of some names are, for the names of which all processes in
// a window have one owner.
func WhoseNames(a Archive, w Window, names map[string]bool) map[string]Whose {
	of := make(map[string]Whose)
	shared := make(map[string]bool)
	for life := range a.Lives("process", w.From, w.To) {
		name := ProcessName(life.Instance)
		if !names[name] || shared[name] || !w.Wants(life.Archive.Host.ID) {
			continue
		}
		whose := WhoseIs(life.Instance)
		if other, known := of[name]; known && other != whose {
			shared[name] = true
			continue
		}
		of[name] = whose
	}
	for name := range shared {
		delete(of, name)
	}
	return of
}
