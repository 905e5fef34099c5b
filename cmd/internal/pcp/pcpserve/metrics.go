// Package pcpserve answers the requests of Performance Co-Pilot. It plays one of pmcd's
// agents on a connection from pmcd, or pmcd itself for the tools that connect to it.
//
// The values come from an implementation of Metrics: a machine that is read on demand, or
// an archive that is followed or played back. This package stores no values and has no
// clock. It passes on what Metrics returns for a fetch, and turns the reason why a metric
// cannot be read into PCP's error for that metric alone.
package pcpserve

import (
	"context"
	"errors"

	"tachograph/sample/metric"
)

// Metrics provides the metrics and values for a Server. Its methods may be called concurrently.
type Metrics interface {
	// Catalog returns the metrics. If they change it returns another pointer, and clients are
	// informed. It is called for every request, so it must be fast.
	Catalog() *Catalog
	// Fetch updates the wanted metrics, and returns what it has when ctx ends. It returns an
	// error only if it knows nothing about any of them. The wanted metrics are pointers from a
	// Catalog that was returned before, each only once.
	Fetch(ctx context.Context, want []*metric.Desc) (*View, error)
	// Instances returns the present instances of an instance domain.
	Instances(ctx context.Context, indom string) ([]*metric.Instance, error)
}

// A Storer is a Metrics with some metrics that can be set. in is nil for a metric without
// instances. Store returns ErrReadOnly for the others.
type Storer interface {
	Store(ctx context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error
}

// View is the values at one time. Neither it nor its blocks and their instances change once it
// was returned.
type View struct {
	At metric.Stamp
	// Blocks are the present blocks of the wanted metrics' groups; the metrics of these groups
	// are those of the Catalog. Other blocks may be among them.
	Blocks []*metric.Block
	// Missing are the metrics that are in no block, with the reason. A metric in neither was not
	// read.
	Missing map[*metric.Desc]metric.Reason
}

// Catalog is the list of all metrics. It does not change.
type Catalog struct {
	Descs []*metric.Desc
	Host  metric.Host
	// Labels are labels of the machine in addition to Host.
	Labels []metric.Label
}

// Described returns g with the descriptions of a catalog, by name. A metric with another type or
// instance domain there gets an empty description: clients cannot get its values.
func Described(g *metric.Group, catalog map[string]*metric.Desc) *metric.Group {
	n := &metric.Group{Name: g.Name, Indom: g.Indom, Metrics: make([]*metric.Desc, len(g.Metrics))}
	for i, d := range g.Metrics {
		if known := catalog[d.Name]; known != nil && known.Type == d.Type && known.Indom == d.Indom {
			n.Metrics[i] = known
		} else {
			n.Metrics[i] = &metric.Desc{Type: d.Type, Indom: d.Indom}
		}
	}
	return n
}

// ErrReadOnly is the error for metrics that cannot be set.
var ErrReadOnly = errors.New("this metric cannot be set")
