package redact

import (
	"strings"

	"tachograph/sample/metric"
)

// Names of containers, pods and apps, and what developers call their services, identify customers.

// owners has the map of each kind of owner, by the label that names it.
var owners = map[string]labelMap{
	metric.OwnerApp:       app,
	metric.OwnerService:   service,
	metric.OwnerContainer: func(m *Mapping, s string) (string, bool) { return m.learn(aContainer, s), true },
	metric.OwnerPod:       pod,
	metric.OwnerSession:   session,
}

// withOwners adds the owners' labels to the labels of a domain.
func withOwners(labels map[string]labelMap) map[string]labelMap {
	for kind, f := range owners {
		labels[kind] = f
	}
	return labels
}

// ownerInstance maps an owner, whose key is its kind and its name.
func (m *Mapping) ownerInstance(in *metric.Instance) *metric.Instance {
	out := &metric.Instance{Labels: m.labelled(in.Labels, owners)}
	kind, name := out.MainOwner()
	if name == "" {
		kind, name = "owner", m.learn(aName, in.Name)
	}
	out.Key, out.Name = kind+" "+name, name
	return out
}

// app maps an app. Most apps have a program of the same name, which gets the same pseudonym.
func app(m *Mapping, s string) (string, bool) { return m.process(s), true }

// service maps a unit of systemd, a label of launchd, or the path of a control group that is neither.
func service(m *Mapping, s string) (string, bool) {
	if s == "kernel" {
		return s, true
	}
	return m.groupPath(s), true
}

// unit maps the name of a unit, a part of a control group's path, or a label of launchd.
func (m *Mapping) unit(s string) string {
	if groupNames(s) || !m.all && strings.HasPrefix(s, appleNames) {
		return s
	}
	stem, end := s, ""
	for _, e := range unitEnds {
		if cut, ok := strings.CutSuffix(s, e); ok {
			stem, end = cut, e
			break
		}
	}
	if template, of, ok := strings.Cut(stem, "@"); ok && of != "" {
		if template != "user" {
			template = m.process(template)
		}
		if id, ok := m.idText(of); ok {
			return template + "@" + id + end
		}
		return template + "@" + m.process(of) + end
	}
	if id, ok := strings.CutPrefix(stem, "user-"); ok {
		if id, ok := m.idText(id); ok {
			return "user-" + id + end
		}
	}
	return m.process(stem) + end
}

// appleNames begin the labels and identifiers of macOS itself.
const appleNames = "com.apple."

// bundle maps the identifier of an app.
func bundle(m *Mapping, s string) (string, bool) {
	if !m.all && strings.HasPrefix(s, appleNames) {
		return s, true
	}
	return m.process(s), true
}

// pod maps NAMESPACE/NAME.
func pod(m *Mapping, s string) (string, bool) {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return m.learn(aName, namespace) + "/" + m.learn(aPod, name), true
	}
	return m.learn(aPod, s), true
}

// session maps "3 of USER", and the name of a terminal.
func session(m *Mapping, s string) (string, bool) {
	if number, user, ok := strings.Cut(s, " of "); ok && sessionNumbers(number) {
		return number + " of " + m.user(user), true
	}
	if terminals(s) {
		return s, true
	}
	return m.learn(aUser, s), true
}

var (
	sessionNumbers = pattern(`c?\d{1,10}`)
	terminals      = pattern(terminalNames)
)
