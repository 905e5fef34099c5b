package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// An ownerPattern finds the processes of owners: "app=Safari", "unit=nginx*".
type ownerPattern struct {
	kind Grouping
	*Pattern
	word string // in lower case, what the name of an owner contains if there is none of exactly this name
}

// parseOwner parses KIND=PATTERN. It returns nil if arg does not begin with a kind of owner: it is
// then the name of a process.
func parseOwner(arg string) (*ownerPattern, error) {
	kind, value, ok := strings.Cut(arg, "=")
	o := &ownerPattern{kind: Grouping(kind)}
	if kind == "unit" {
		o.kind = PerService // as systemd calls it
	}
	if !ok || !o.kind.OfOwners() {
		return nil, nil
	}
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	if value == "" {
		return nil, fmt.Errorf("%s of which %s? Write its name, or a pattern: %[1]sNAME, %[1]s*", arg, kind)
	}
	var err error
	if o.Pattern, err = ParsePattern(value); err != nil {
		return nil, err
	}
	if o.re == nil {
		o.word = strings.ToLower(value)
	}
	return o, nil
}

// owns reports whether an instance belongs to an owner that o means; loose also takes an owner whose name
// contains the word.
func (o *ownerPattern) owns(in *metric.Instance, loose bool) bool {
	name := in.Label(string(o.kind))
	if o.kind == PerOwner {
		_, name = in.MainOwner()
	}
	return name != "" && (o.Match(name) || loose && o.word != "" && strings.Contains(strings.ToLower(name), o.word))
}

// labels are the labels of an instance by which o finds it.
func (o *ownerPattern) labels() []string {
	if o.kind == PerOwner {
		return metric.OwnerKinds
	}
	return []string{string(o.kind)}
}

// An Unowned is a time in which a host was recorded without the owners of its processes.
type Unowned struct {
	Host     metric.Host
	From, To int64
	// Always says that there are none of the host in the whole window.
	Always bool
}

// WithoutOwners returns the times in a window of which a recording does not say whose the
// processes are, host by host; none if it never does.
func WithoutOwners(a Archive, w Window) (list []Unowned) {
	_, _, archives := Covered(a, w)
	slices.SortStableFunc(archives, func(x, y *store.ArchiveInfo) int {
		return cmp.Or(cmp.Compare(x.Host.Name, y.Host.Name), cmp.Compare(x.From, y.From))
	})
	any := make(map[string]bool) // by host: owners are recorded at some time
	for _, info := range archives {
		if ownersIn(a, info) {
			any[info.Host.ID] = true
		}
	}
	if len(any) == 0 {
		return nil
	}
	open := false // the last time goes on
	for i, info := range archives {
		if i > 0 && archives[i-1].Host.ID != info.Host.ID {
			open = false
		}
		switch none := !ownersIn(a, info); {
		case none && open:
			last := &list[len(list)-1]
			last.To = max(last.To, info.To)
		case none:
			list = append(list, Unowned{Host: info.Host, From: info.From, To: info.To, Always: !any[info.Host.ID]})
			open = true
		default:
			open = false
		}
	}
	return list
}

// ownersIn reports whether an archive says whose its processes are.
func ownersIn(a Archive, info *store.ArchiveInfo) bool {
	return slices.ContainsFunc(metric.OwnerKinds, func(kind string) bool {
		d := a.LookupIn(info, "proc.owner."+kind)
		return d != nil && d.Unsupported == ""
	})
}

// MeansOwners reports whether any of the patterns means an owner.
func MeansOwners(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(arg string) bool {
		o, _ := parseOwner(arg)
		return o != nil
	})
}

// NoOwners returns an error if some of the patterns mean owners and the archive does not have them.
func NoOwners(a Archive, patterns []string) error {
	if MeansOwners(patterns) && !OwnersRecorded(a) {
		return ErrNoOwners
	}
	return nil
}
