package pcp

import (
	"strconv"

	"tachograph/sample/metric"
)

// Names of labels that say of a metric, an instance or a host what PCP has no field for.
const (
	SaysClass   = "class"
	SaysGroup   = "group"
	SaysIndom   = "indom"
	SaysSource  = "source"
	SaysWidth   = "width"
	SaysClamped = "clamped"
	SaysFalls   = "falls"
	SaysFastest = "fastest"
	SaysUnits   = "units"
	// SaysType and SaysSemantics are what was recorded where PCP's own agents have another.
	SaysType      = "type"
	SaysSemantics = "semantics"
	SaysName      = "name"
	SaysNumber    = "pmid"
	SaysHost      = "hostname"
	SaysID        = "machineid"
	SaysOS        = "os"
	SaysRelease   = "release"
	SaysArch      = "arch"
	SaysModel     = "model"
	SaysPlatform  = "platform"
	SaysBoot      = "boot"
	SaysZone      = "timezone"
	SaysRecorder  = "recorder"
	SaysEvery     = "intervals"
	// SaysIdentity is the label of what makes an instance the same one, where that is
	// more than its name: a pid may be of another process tomorrow.
	SaysIdentity = "identity"
)

func add(list []metric.Label, name, value string) []metric.Label {
	if value == "" {
		return list
	}
	return append(list, metric.Label{Name: name, Value: value})
}

// MetricLabels say of a metric what its description has no place for. group is the one
// it is read with, if that is to be said.
func MetricLabels(m *Metric, group string) []metric.Label {
	d := m.Desc
	l := add(nil, SaysClass, d.Class.String())
	l = add(l, SaysGroup, group)
	l = add(l, SaysIndom, d.Indom)
	l = add(l, SaysSource, d.Source)
	if d.Width != 0 {
		l = add(l, SaysWidth, strconv.Itoa(int(d.Width)))
	}
	if d.Clamped {
		l = add(l, SaysClamped, "true")
	}
	if d.Falls != metric.MayRestart {
		l = add(l, SaysFalls, strconv.Itoa(int(d.Falls)))
	}
	if d.Fastest != 0 {
		l = add(l, SaysFastest, d.Fastest.String())
	}
	if m.Lossy || d.Units.Other != "" {
		l = add(l, SaysUnits, d.Units.String())
	}
	if m.Narrower() {
		l = add(l, SaysType, strconv.Itoa(int(d.Type)))
	}
	if m.Semantics != SemanticsOf(d.Sem) {
		l = add(l, SaysSemantics, strconv.Itoa(int(d.Sem)))
	}
	if m.PMID != d.PMID {
		l = add(l, SaysNumber, strconv.FormatUint(uint64(d.PMID), 10))
	}
	if m.Name != d.Name {
		l = add(l, SaysName, d.Name)
	}
	return l
}

// HostLabels say which machine it is, and what else there is to say, before the
// machine's own labels.
func HostLabels(h *metric.Host, more ...metric.Label) []metric.Label {
	l := add(nil, SaysHost, h.Name)
	l = add(l, SaysID, h.ID)
	l = add(l, SaysOS, h.OS)
	l = add(l, SaysRelease, h.Release)
	l = add(l, SaysArch, h.Arch)
	l = add(l, SaysModel, h.Model)
	l = add(l, SaysPlatform, h.Platform)
	for _, m := range more {
		l = add(l, m.Name, m.Value)
	}
	return append(l, h.Labels...)
}

// InstanceLabels say of an instance what its name does not.
func InstanceLabels(in *metric.Instance) []metric.Label {
	if in.Key == in.Name || in.Key == "" {
		return in.Labels
	}
	return append(in.Labels[:len(in.Labels):len(in.Labels)], metric.Label{Name: SaysIdentity, Value: in.Key})
}
