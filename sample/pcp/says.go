package pcp

import (
	"strconv"

	"tachograph/sample/metric"
)

// Names of labels for facts about a metric, an instance or a host for which PCP has no field.
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
	// SaysType and SaysSemantics are the recorded ones, where PCP's own agents have others.
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
	// SaysIdentity is the label of an instance's key, where that is more than its name: a pid may
	// belong to another process tomorrow.
	SaysIdentity = "identity"
)

func add(list []metric.Label, name, value string) []metric.Label {
	if value == "" {
		return list
	}
	return append(list, metric.Label{Name: name, Value: value})
}

// MetricLabels returns labels for the properties of a metric that its PCP description cannot
// hold. group is the group it is read with, or "".
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

// HostLabels describes a machine: its main properties, then more, then the machine's own labels.
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

// InstanceLabels describes what an instance's name does not.
func InstanceLabels(in *metric.Instance) []metric.Label {
	if in.Key == in.Name || in.Key == "" {
		return in.Labels
	}
	return append(in.Labels[:len(in.Labels):len(in.Labels)], metric.Label{Name: SaysIdentity, Value: in.Key})
}
