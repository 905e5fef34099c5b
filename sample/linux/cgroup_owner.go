package linux

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// labelInner marks groups that have groups below them: their numbers include those of the others.
const labelInner = "inner"

// mostNameTries is how often the name of a container is looked for: a runtime may write it after
// it has started the container.
const mostNameTries = 4

// ownedGroup is whose a group is.
type ownedGroup struct {
	found  owner.Found
	labels []metric.Label
	tries  int // how often a name has been looked for, 0 if there is none to look for
	inner  bool
}

// describe sets the labels of a group.
func (g *cgroups) describe(m *member[cgroup], inner bool) {
	o := &m.data.owned
	first := o.labels == nil
	if first {
		o.found, o.tries = owner.OfPath(m.data.path), 1
	}
	if !first && (o.tries == 0 || o.tries > mostNameTries) && o.inner == inner {
		return
	}
	if o.tries > 0 && o.tries <= mostNameTries {
		var names owner.Named
		// The names of an ordinary user's containers are not in the files of root.
		if c := &o.found.Container; c.ID == "" || c.Name != "" || o.found.UID != "" && o.found.UID != "0" {
			o.tries = 0
		} else if names = g.names.Of(*c); names.Container != "" {
			o.tries = 0
		} else {
			o.tries++
		}
		who := o.found.Owner(names, g.userName)
		o.labels = append(make([]metric.Label, 0, len(metric.OwnerKinds)), who.Labels()...)
	}
	o.inner = inner
	labels := o.labels
	if inner {
		labels = append(slices.Clip(labels), metric.Label{Name: labelInner, Value: "yes"})
	}
	if slices.Equal(m.in.Labels, labels) {
		return
	}
	m.in.Labels = labels
	m.in.Rev++
	for _, d := range m.data.devices {
		d.in.Labels = append(slices.Clip(labels), metric.Label{Name: labelDevice, Value: d.name})
		d.in.Rev++
	}
}

// userName returns the name of the user with an id, or the id.
func (g *cgroups) userName(uid string) string {
	data, err := os.ReadFile(g.root + "/etc/passwd")
	if err != nil {
		return uid
	}
	for l := range bytes.Lines(data) {
		if f := strings.SplitN(string(l), ":", 4); len(f) == 4 && f[2] == uid {
			return f[0]
		}
	}
	return uid
}
