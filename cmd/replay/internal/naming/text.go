package naming

import "strings"

// plain maps types to those of the older text format.
var plain = map[Type]Type{Counter: Counter, Gauge: Gauge, Info: Gauge, Unknown: "untyped"}

// AppendHead appends the lines in front of the samples of a family, in the format of OpenMetrics
// or in the older text format.
func (f *Family) AppendHead(b []byte, openMetrics bool) []byte {
	name, kind := f.Name, plain[f.Type]
	if openMetrics {
		name, kind = f.Stem(), f.Type
	}
	b = append(append(append(b, "# HELP "...), name...), ' ')
	b = appendEscaped(b, f.Help, openMetrics)
	b = append(append(append(b, "\n# TYPE "...), name...), ' ')
	b = append(append(b, kind...), '\n')
	if openMetrics && f.Unit != "" && strings.HasSuffix(name, "_"+f.Unit) {
		b = append(append(append(append(b, "# UNIT "...), name...), ' '), f.Unit...)
		b = append(b, '\n')
	}
	return b
}

// Stem returns OpenMetrics' name of a family, which the names of its samples begin with.
func (f *Family) Stem() string {
	switch f.Type {
	case Counter:
		return strings.TrimSuffix(f.Name, "_total")
	case Info:
		return strings.TrimSuffix(f.Name, "_info")
	}
	return f.Name
}

// AppendLabels appends the labels of a sample.
func AppendLabels(b []byte, labels []Label) []byte {
	if len(labels) == 0 {
		return b
	}
	b = append(b, '{')
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.Name...)
		b = append(b, '=', '"')
		b = appendEscaped(b, l.Value, true)
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendEscaped appends a text. Invalid UTF-8 becomes the replacement character.
func appendEscaped(b []byte, s string, quotes bool) []byte {
	for _, r := range s {
		switch {
		case r == '\\':
			b = append(b, '\\', '\\')
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '"' && quotes:
			b = append(b, '\\', '"')
		default:
			b = append(b, string(r)...)
		}
	}
	return b
}
