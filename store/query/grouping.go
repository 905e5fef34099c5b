package query

import (
	"errors"
	"slices"

	"tachograph/sample/metric"
)

// Grouping says by what processes are grouped to add up their consumption.
type Grouping string

const (
	PerProcess   Grouping = "process"
	PerName      Grouping = "name"
	PerUser      Grouping = "user"
	PerParent    Grouping = "parent"
	PerOwner     Grouping = "owner" // of a process's owners the one that people mean
	PerApp       Grouping = metric.OwnerApp
	PerService   Grouping = metric.OwnerService
	PerContainer Grouping = metric.OwnerContainer
	PerPod       Grouping = metric.OwnerPod
	PerSession   Grouping = metric.OwnerSession
)

// Groupings are all ways to group processes.
var Groupings = []Grouping{PerProcess, PerName, PerUser, PerParent, PerOwner, PerApp, PerService, PerContainer, PerPod, PerSession}

// groupable are the groupings by which expressions bring processes together.
var groupable = []Grouping{PerApp, PerContainer, PerName, PerOwner, PerPod, PerService, PerSession}

// ErrNoOwners says that a question is about owners, which an archive does not have.
var ErrNoOwners = errors.New("owners are not recorded in this archive: it was made by a recorder that does not know apps, services and containers, or by another program")

// OfOwners reports whether the groups are owners.
func (g Grouping) OfOwners() bool {
	return g == PerOwner || slices.Contains(metric.OwnerKinds, string(g))
}

// key returns what distinguishes the group of a process from others; a container and an app may
// have the same name.
func (g Grouping) key(in *metric.Instance) string {
	switch g {
	case PerProcess:
		return in.Key
	case PerName:
		return ProcessName(in)
	case PerUser:
		if uid := in.UserID(); uid != "" {
			return uid
		}
		return "?"
	case PerParent:
		return in.Label("parent")
	case PerOwner:
		kind, name := in.MainOwner()
		return Whose{kind, name}.Key()
	}
	return in.Label(string(g))
}

// name returns what people call the group of a process, and the kind of owner that it is, if it is
// one. The processes without such an owner are a group, too.
func (g Grouping) name(in *metric.Instance) (kind, name string) {
	switch {
	case !g.OfOwners():
		return "", g.key(in)
	case g == PerOwner:
		kind, name = in.MainOwner()
	default:
		kind, name = string(g), in.Label(string(g))
	}
	if name == "" {
		return "", "(no " + string(g) + ")"
	}
	return kind, name
}

// group returns the group that a process belongs to as an instance of its own domain; nil if it
// belongs to none. As with a process, the label called like the kind of an owner has its name.
func (g Grouping) group(in *metric.Instance) *metric.Instance {
	key := g.key(in)
	if key == "" {
		return nil
	}
	if !g.OfOwners() {
		return &metric.Instance{Key: key, Name: key}
	}
	kind, name := g.name(in)
	if g == PerOwner {
		key = kind + " " + name
	}
	return &metric.Instance{Key: key, Name: name, Labels: []metric.Label{{Name: kind, Value: name}}}
}
