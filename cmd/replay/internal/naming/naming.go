// Package naming maps metrics to names for Prometheus. Each metric has its own name that follows
// Prometheus' conventions and, if node_exporter has the same metric, also the name from there,
// so that dashboards for node_exporter work.
package naming

import (
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// Type says how to understand the samples of a family.
type Type string

const (
	Counter Type = "counter"
	Gauge   Type = "gauge"
	Info    Type = "info"    // 1, with the information in labels
	Unknown Type = "unknown" // node_exporter does not say
)

// Label is a label of a series.
type Label struct{ Name, Value string }

// Family is all series with the same name.
type Family struct {
	// Name is the name of the samples. It ends in _total for a counter and in _info for an info;
	// node_exporter's names stay as they are.
	Name string
	Type Type
	// Unit is the base unit that the name ends with, if any.
	Unit string
	Help string
	// Collector is the group that families are selected by: the first part of the metric's name,
	// or node_exporter's own.
	Collector string
	Sources   []Source
}

// Source says where some series of a family come from.
type Source struct {
	Metric string // as recorded
	// Labels are labels that all the series have.
	Labels []Label
	// Only is the name of the one instance that the source uses; its series have no label for
	// it.
	Only string
	// Texts are labels of an info, and the metrics whose words are their values.
	Texts []Label
	// Times is a metric without instances to multiply the values with.
	Times string
	// Raw values are not converted to a base unit.
	Raw bool
	// Device names the label of the instance "device".
	Device bool
	// Kind says what part of the reading is the value.
	Kind Kind
}

// Kind says what part of a reading is the value.
type Kind uint8

const (
	Value   Kind = iota
	Clock        // the second since 1970 of the reading
	Failing      // 0 if there is a value, else 1
)

// Scale is a multiplication followed by a division, both by whole numbers, so that only the last
// digit is rounded.
type Scale struct{ Mul, Div float64 }

// Of scales a value.
func (s Scale) Of(x float64) float64 {
	if s.Mul != 1 && s.Mul != 0 {
		x *= s.Mul
	}
	if s.Div != 1 && s.Div != 0 {
		x /= s.Div
	}
	return x
}

// Number returns a value as a float64. A 32-bit float becomes the shortest decimal number
// that rounds to it, which replay shows as well: 0.1, not 0.10000000149.
func Number(v metric.Value) float64 {
	x := metric.Number(v.Type, v.Bits)
	if v.Type == metric.F32 {
		var room [32]byte
		if short, err := strconv.ParseFloat(string(strconv.AppendFloat(room[:0], x, 'g', -1, 32)), 64); err == nil {
			return short
		}
	}
	return x
}

// Prefix begins all of replay's own names.
const Prefix = "tachograph_"

// Own returns a metric's family under replay's own name.
func Own(d *metric.Desc) Family {
	unit, _ := base(d.Units)
	f := Family{Type: Gauge, Unit: unit, Help: d.Help, Collector: Collector(d.Name), Sources: []Source{{Metric: d.Name}}}
	name := Prefix + conventional(d.Name, unit)
	switch {
	case d.Type == metric.String:
		f.Type, f.Unit, name = Info, "", strings.TrimSuffix(name, "_info")+"_info"
	case d.Sem == metric.Counter:
		f.Type, name = Counter, name+"_total"
	}
	f.Name = name
	return f
}

// Scale returns the scale from values of d to those of the source.
func (s *Source) Scale(d *metric.Desc) Scale {
	if s.Raw {
		return Scale{1, 1}
	}
	_, scale := base(d.Units)
	return scale
}

// Series returns the labels of the series of an instance of d, sorted by name; ok is false if
// the source has no such series.
func (s *Source) Series(d *metric.Desc, in *metric.Instance) (labels []Label, ok bool) {
	labels = slices.Clone(s.Labels)
	switch {
	case s.Only != "":
		return labels, in != nil && in.Name == s.Only
	case s.Device && in != nil:
		labels = append(labels, Label{"device", in.Name})
	case in != nil:
		labels = append(labels, InstanceLabels(d.Indom, in)...)
	}
	slices.SortFunc(labels, func(x, y Label) int { return strings.Compare(x.Name, y.Name) })
	return labels, true
}

// Collector returns the group that a metric belongs to.
func Collector(metric string) string {
	group, _, _ := strings.Cut(metric, ".")
	return group
}

// awkward are parts of names that mean something else to Prometheus, or name a unit that the
// values are converted from.
var awkward = map[string]string{
	"total": "overall", "count": "number", "sum": "added", "bucket": "bin", "created": "made", "info": "facts",
	"us": "", "ms": "", "secs": "", "kb": "", "mb": "", "bytes": "", "seconds": "", "pct": "", "percent": "", "kbytes": "",
	"s": "text", "centisecs": "hundredths", "gauge": "level", "counter": "tally", "usecs": "", "abs": "absolute",
}

// conventional returns a metric's name by Prometheus' conventions, with its unit.
func conventional(name, unit string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
			lower = r >= 'a'
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
			lower = false
		default:
			b.WriteByte('_')
			lower = false
		}
	}
	var parts []string
	all := strings.Split(b.String(), "_")
	for i, p := range all {
		word, odd := awkward[p]
		// A unit's name may occur inside a name, and so may an awkward word that is not a
		// suffix.
		last := i == len(all)-1
		switch {
		case p == "":
		case odd && word == "" && (last || p == "us" || p == "ms" || p == "kb" || p == "mb"):
		case odd && word != "" && (last || p == "gauge" || p == "counter"):
			parts = append(parts, word)
		default:
			parts = append(parts, p)
		}
	}
	if unit != "" {
		parts = append(parts, unit)
	}
	return strings.Join(parts, "_")
}

// base returns the base unit of u, as a part of a name, and the scale from u to it.
func base(u metric.Units) (name string, s Scale) {
	s = Scale{1, 1}
	per := func(exponent int8, to, from float64) {
		if exponent > 0 {
			s.Mul, s.Div = s.Mul*to, s.Div*from
		} else if exponent < 0 {
			s.Mul, s.Div = s.Mul*from, s.Div*to
		}
	}
	other := ""
	switch u.Other {
	case "C":
		other = "celsius"
	case "percent":
		other, s.Div = "ratio", 100
	case "mA":
		other, s.Div = "amperes", 1e3
	case "mV":
		other, s.Div = "volts", 1e3
	case "mW":
		other, s.Div = "watts", 1e3
	case "nanojoule":
		other, s.Div = "joules", 1e9
	case "bit":
		other, s.Div = "bytes", 8
	case "rpm":
		other = "rpm"
	case "MHz":
		other, s.Mul = "hertz", s.Mul*1e6
	case "cycle":
		other = "cycles"
	}
	if u.Other == "mA" && u.Time == 1 && u.Space == 0 {
		seconds := [...]Scale{{1, 1e9}, {1, 1e6}, {1, 1e3}, {1, 1}, {60, 1}, {3600, 1}}[scaleIn(u.TimeScale, 6)]
		return "coulombs", reduced(Scale{seconds.Mul, 1e3 * seconds.Div})
	}
	var above, below []string
	part := func(exponent int8, what string) {
		if exponent > 0 {
			above = append(above, what)
		} else if exponent < 0 {
			below = append(below, what)
		}
	}
	if u.Space != 0 {
		bytes := 1.0
		for range scaleIn(u.SpaceScale, 7) {
			bytes *= 1024
		}
		per(u.Space, bytes, 1)
		part(u.Space, "bytes")
	}
	if other != "" {
		above = append(above, other)
	}
	if u.Time != 0 {
		seconds := [...]Scale{{1, 1e9}, {1, 1e6}, {1, 1e3}, {1, 1}, {60, 1}, {3600, 1}}[scaleIn(u.TimeScale, 6)]
		per(u.Time, seconds.Mul, seconds.Div)
		if u.Time > 0 {
			above = append(above, "seconds")
		} else {
			below = append(below, "second")
		}
	}
	for range max(u.CountScale, 0) {
		per(u.Count, 10, 1)
	}
	s = reduced(s)
	name = strings.Join(above, "_")
	if len(below) > 0 {
		name = strings.TrimPrefix(name+"_per_"+strings.Join(below, "_"), "_")
	}
	return name, s
}

// scaleIn limits the index of a scale to n scales; an archive from a stranger may have any.
func scaleIn(scale int8, n int) int { return min(max(int(scale), 0), n-1) }

// reduced divides both sides by a common factor, in the obvious cases.
func reduced(s Scale) Scale {
	switch {
	case s.Mul == s.Div:
		return Scale{1, 1}
	case s.Mul == 3600 && s.Div == 1e3:
		return Scale{36, 10}
	}
	return s
}

// labelsOf are the label names of those domains whose label does not have the domain's own name.
var labelsOf = map[string]string{
	"disk": "device", "load": "over", "pressure": "over", "filesys": "mountpoint", "apfs container": "container", "apfs volume": "volume",
	"cache level": "level", "nfs3 op": "operation", "interface": "interface",
}

// InstanceLabels returns the labels of an instance of a domain, sorted by name.
func InstanceLabels(indom string, in *metric.Instance) []Label {
	if in == nil {
		return nil
	}
	switch indom {
	case "cpu":
		return []Label{{"cpu", strings.TrimPrefix(in.Name, "cpu")}}
	case "filesys":
		return []Label{{"device", in.Label("device")}, {"fstype", in.Label("type")}, {"mountpoint", in.Name}}
	case "owner":
		kind, name := in.MainOwner()
		return []Label{{"kind", kind}, {"owner", name}}
	case "process":
		return []Label{{"name", in.Title()}, {"pid", pid(in)}}
	case "connection":
		return []Label{{"connection", in.Key}, {"direction", in.Label("direction")}, {"name", in.Label("name")}, {"peer", in.Label("peer")},
			{"peer_port", in.Label("peer_port")}, {"port", in.Label("port")}, {"protocol", in.Label("protocol")}}
	case "listener":
		return []Label{{"listener", in.Name}, {"name", in.Label("name")}, {"port", in.Label("port")}, {"protocol", in.Label("protocol")}}
	case "coalition":
		return []Label{{"coalition", in.Key}, {"name", in.Name}}
	case "thread":
		return []Label{{"name", in.Title()}, {"process", in.Label("process")}, {"thread", in.Key}}
	}
	name := labelsOf[indom]
	if name == "" {
		name = labelName(indom)
	}
	return []Label{{name, in.Name}}
}

// pid returns the process ID of an instance.
func pid(in *metric.Instance) string {
	if pid := in.Label("pid"); pid != "" {
		return pid
	}
	text, _, _ := strings.Cut(in.Name, " ")
	if n, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(n)
	}
	return text
}

// labelName turns any text into a label name.
func labelName(s string) string {
	b := []byte("of_" + s)
	if len(s) > 0 && (s[0] < '0' || s[0] > '9') && s != "instance" && s != "job" && s != "le" && s != "quantile" && !strings.HasPrefix(s, "__") {
		b = []byte(s)
	}
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			b[i] = '_'
		}
	}
	return string(b)
}

// PerProcess reports whether a domain has so many instances that its families are returned only
// on request.
func PerProcess(indom string) bool { return metric.PerBoot(indom) }

// ValidLabel reports whether Prometheus accepts name as the name of a label that users may set.
func ValidLabel(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "__")
}
