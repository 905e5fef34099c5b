package answer

import (
	"slices"

	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// ownerKinds are the kinds of owners in the order of their columns.
var ownerKinds = []string{metric.OwnerApp, metric.OwnerService, metric.OwnerContainer, metric.OwnerPod, metric.OwnerSession}

// owners are the fields of the owners of a T.
func owners[T any](name func(of T, kind string) string) (list []Field[T]) {
	for _, kind := range ownerKinds {
		list = append(list, Field[T]{Name: kind, Key: kind, Word: func(of T) string { return name(of, kind) }, Low: true, Keep: 6, Flex: true})
	}
	return list
}

// ownerOfPlace returns the owner of a consumer; of several processes only the one that they were brought
// together by.
func ownerOfPlace(p *Place, kind string) string {
	switch {
	case p.Owned == kind:
		return p.Name
	case p.Owned != "" || p.Count > 1:
		return ""
	}
	return p.Instance.Label(kind)
}

// A Group is the processes of a moment that belong together.
type Group = *query.Group

// Groups are the fields of such a group: those of a process that can be summed up.
var Groups = slices.Concat(
	[]Field[Group]{
		{Name: "count", Key: "processes", Of: func(g Group) float64 { return float64(len(g.Processes)) }, Unit: Number},
		{Key: "kind", Word: func(g Group) string { return g.Kind }},
	},
	Within(slices.DeleteFunc(slices.Clone(Processes), func(f Field[Process]) bool {
		return slices.Contains([]string{"pid", "ppid", "key", "state", "uptime_secs", "priority", "nice"}, f.Name)
	}), func(g Group) Process { return g.Sum }))

// InGroups are the keys of the columns that people see of a group, before the name.
var InGroups = []string{"processes", "user", "cpu", "memory", "read", "write", "energy", "threads"}

// GroupColumns are the columns of rows about groups of processes for programs.
func GroupColumns() []out.Column {
	columns := []out.Column{{Name: "time"}, {Name: "sample_window_ms"}}
	for _, f := range Named(Groups) {
		columns = append(columns, out.Column{Name: f.Name, Kind: f.Kind()})
	}
	return append(columns, out.Column{Name: "platform"})
}

// GroupCells are the cells of these columns.
func GroupCells(g Group) []out.Cell {
	cells := []out.Cell{out.At(g.Sum.At), Whole(g.Sum.Window * 1000)}
	for _, f := range Named(Groups) {
		cells = append(cells, f.Cell(g))
	}
	return append(cells, out.Str(Platform(&g.Sum.Archive.Host)))
}
