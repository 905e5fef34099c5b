package naming

import (
	"strings"
	"sync"
)

// Node returns the families of node_exporter on a platform: "linux" or "macos". Which of their
// metrics exist depends on the archive.
func Node(platform string) []Family {
	if platform == "macos" {
		return nodes().macos
	}
	return nodes().linux
}

var nodes = sync.OnceValue(func() (all struct{ linux, macos []Family }) {
	lines := strings.Split(strings.Trim(table, "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		head, sources, _ := strings.Cut(lines[i], " | ")
		words := strings.Fields(head)
		f := Family{Collector: words[1], Name: words[2], Type: Type(words[3]), Help: strings.TrimPrefix(lines[i+1], "\t")}
		for text := range strings.SplitSeq(sources, " | ") {
			f.Sources = append(f.Sources, sourceOf(text))
		}
		if words[0] != "macos" {
			all.linux = append(all.linux, f)
		}
		if words[0] != "linux" {
			all.macos = append(all.macos, f)
		}
	}
	return all
})

// sourceOf parses a metric with its options.
func sourceOf(text string) Source {
	metric, rest, _ := strings.Cut(text, ": ")
	s := Source{Metric: metric}
	if only, ok := strings.CutPrefix(rest, "only="); ok {
		s.Only = only
		return s
	}
	if texts, ok := strings.CutPrefix(rest, "texts="); ok {
		for t := range strings.SplitSeq(texts, " ") {
			label, of, _ := strings.Cut(t, ":")
			s.Texts = append(s.Texts, Label{label, of})
		}
		return s
	}
	for word := range strings.FieldsSeq(rest) {
		switch key, value, _ := strings.Cut(word, "="); {
		case word == "raw":
			s.Raw = true
		case word == "device":
			s.Device = true
		case key == "times":
			s.Times = value
		case word == "kind=clock":
			s.Kind = Clock
		case word == "kind=failing":
			s.Kind = Failing
		default:
			s.Labels = append(s.Labels, Label{key, value})
		}
	}
	return s
}
