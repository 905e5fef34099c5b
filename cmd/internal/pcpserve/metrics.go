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

// Metrics is what is answered from. Many may call it at once.
type Metrics interface {
	// Catalog is what there is. It is another pointer when that has changed, and
	// clients are told then. It is asked for with every request: keep it at hand.
	Catalog() *Catalog
	// Fetch brings what is wanted up to date, at most until ctx ends; then it returns
	// what it has. An error is for when nothing can be said of any of it. What is wanted
	// are pointers out of a Catalog that was given before, each once.
	Fetch(ctx context.Context, want []*metric.Desc) (*View, error)
	// Instances are those that an instance domain has now.
	Instances(ctx context.Context, indom string) ([]*metric.Instance, error)
}

// A Storer is a Metrics of which some may be set. in is nil for a metric without
// instances. It returns ErrReadOnly for those that may not.
type Storer interface {
	Store(ctx context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error
}

// View is how things stand. Nothing in it changes once it was handed out: neither its
// blocks nor their instances.
type View struct {
	At metric.Stamp
	// Blocks are the present ones of the groups that what is wanted is of; the metrics of
	// their groups are those of the Catalog. There may be others.
	Blocks []*metric.Block
	// Missing are those that are in no block, with the reason. What is in neither was
	// not read.
	Missing map[*metric.Desc]metric.Reason
}

// Catalog is what there is to ask for. It does not change.
type Catalog struct {
	Descs []*metric.Desc
	Host  metric.Host
	// Labels say of the machine what Host does not.
	Labels []metric.Label
}

// Described is g with the descriptions of a catalog, by name. A metric that is of another
// type there, or of other instances, has no name in it: nobody can be told of its values.
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

// ErrReadOnly is for values that may not be set.
var ErrReadOnly = errors.New("this metric cannot be set")
