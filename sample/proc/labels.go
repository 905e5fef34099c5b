package proc

import (
	"slices"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

// labels are those of an instance that belongs to a process.
type labels []metric.Label

// labelsOf returns the labels that say which process p is and whose; there are none if p is nil.
func labelsOf[P any](p *process[P]) (l labels) {
	if p == nil {
		return nil
	}
	l.add("process", p.instance.Key)
	l.add("pid", strconv.Itoa(int(p.pid)))
	l.add("name", cmdline.Printable(p.name))
	return append(l, p.instance.Owners()...)
}

// add adds a label unless it is empty.
func (l *labels) add(name, value string) {
	if value != "" {
		*l = append(*l, metric.Label{Name: name, Value: value})
	}
}

// give gives an instance its name and labels.
func (l labels) give(in *metric.Instance, name string) {
	if in.Name != name || !slices.Equal(in.Labels, l) {
		in.Name, in.Labels = name, l
		in.Rev++
	}
}
