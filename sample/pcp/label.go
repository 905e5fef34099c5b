package pcp

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"tachograph/sample/metric"
)

// The kinds of things that labels belong to.
const (
	LabelContext   = 1
	LabelDomain    = 2
	LabelIndom     = 4
	LabelCluster   = 8
	LabelItem      = 16
	LabelInstances = 32
)

// Limits of a set of labels: the length of its JSON and the number of labels. Archives allow one
// more of each, but PCP refuses that in a message.
const (
	MaxLabelJSON = 1<<16 - 2
	MaxLabels    = 254
)

// LabelRef locates one label in the JSON of its set.
type LabelRef struct {
	Name    uint16
	NameLen uint8
	Flags   uint8
	Value   uint16
	// ValueLen includes the quotes of a string.
	ValueLen uint16
}

// LabelJSON writes labels as one flat JSON object, and returns where each label is in it. Values
// are strings. It leaves out labels that exceed the limits and all but the first of equal names.
// In names, characters that PCP does not allow become underscores. kind is what the labels
// belong to. Labels that only describe are marked as optional.
func LabelJSON(labels []metric.Label, kind int) (text string, refs []LabelRef) {
	var b strings.Builder
	b.WriteByte('{')
	seen := make(map[string]bool, len(labels))
	for _, l := range labels {
		name := LabelName(l.Name)
		value := quote(l.Value)
		if seen[name] || len(refs) == MaxLabels || b.Len()+len(name)+len(value)+5 > MaxLabelJSON {
			continue
		}
		seen[name] = true
		if len(refs) > 0 {
			b.WriteByte(',')
		}
		ref := LabelRef{Name: uint16(b.Len() + 1), NameLen: uint8(len(name)), Flags: uint8(kind), ValueLen: uint16(len(value))}
		if strings.Contains(name, ".") {
			ref.Flags |= compound
		}
		if !identifies(kind, name) {
			ref.Flags |= optional
		}
		b.WriteString(`"` + name + `":`)
		ref.Value = uint16(b.Len())
		b.WriteString(value)
		refs = append(refs, ref)
	}
	b.WriteByte('}')
	return b.String(), refs
}

// Flags of a label.
const (
	compound = 1 << 6
	optional = 1 << 7
)

// identifies reports whether a label is part of a series' identity. PCP treats every label that
// is not optional as such; otherwise each boot, each release of the system and each version of
// this program would begin new series.
func identifies(kind int, name string) bool {
	switch kind {
	case LabelContext:
		return name == SaysHost || name == SaysID
	case LabelItem:
		return false
	}
	return true
}

// LabelName makes a label's name valid for PCP.
func LabelName(s string) string {
	name := part(s[:min(len(s), 254)])
	return name
}

// quote returns s as a JSON string. encoding/json escapes more than necessary, for HTML, and
// PCP's parser accepts only what JSON defines.
func quote(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20 || r == 0x7f:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&0xf])
		default:
			b = utf8.AppendRune(b, r) // the replacement character for invalid UTF-8
		}
		i += n
	}
	return string(append(b, '"'))
}

// ParseLabels reads the JSON of a set, in its order. Values that are not strings are returned as
// they are written.
func ParseLabels(text string) ([]metric.Label, error) {
	if len(text) > MaxLabelJSON+1 {
		text = text[:MaxLabelJSON+1]
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errLabels(text)
	}
	var labels []metric.Label
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errLabels(text)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errLabels(text)
		}
		l := metric.Label{Name: name.(string), Value: string(value)}
		var s string
		if json.Unmarshal(value, &s) == nil {
			l.Value = s
		}
		labels = append(labels, l)
		if len(labels) == MaxLabels+1 {
			break
		}
	}
	return labels, nil
}

type errLabels string

func (e errLabels) Error() string {
	return "labels that are no JSON: " + strconv.Quote(string(e[:min(len(e), 60)]))
}
