package naming

import "strings"

// plain are the types as the older text format knows them.
var plain = map[Type]Type{Counter: Counter, Gauge: Gauge, Info: Gauge, Unknown: "untyped"}

// AppendHead appends what stands before the samples of a family: as OpenMetrics has it, or
// the text format before that.
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

// Stem is what OpenMetrics calls a family, whose samples are called after it.
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

// appendEscaped appends a text. What is no UTF-8 is told as one that says so.
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
