package pcpserve

import (
	"context"
	"slices"
	"sync"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// The few metrics of pmcd's own that PCP's tools fetch from every pmcd: the machine's name,
// which pmlogger gives its archive, and its zone, in which they show times with -z.
var (
	pmcdTimezone = metric.Desc{Name: "pmcd.timezone", PMID: metric.NewPMID(2, 0, 5), Type: metric.String, Sem: metric.Discrete,
		Help: "The zone of the machine that is recorded, as POSIX writes it"}
	pmcdVersion = metric.Desc{Name: "pmcd.version", PMID: metric.NewPMID(2, 0, 7), Type: metric.String, Sem: metric.Discrete,
		Help: "The program that answers, and its version"}
	pmcdHostname = metric.Desc{Name: "pmcd.hostname", PMID: metric.NewPMID(2, 0, 21), Type: metric.String, Sem: metric.Discrete,
		Help: "The name of the machine that is recorded"}
	pmcdZoneinfo = metric.Desc{Name: "pmcd.zoneinfo", PMID: metric.NewPMID(2, 0, 26), Type: metric.String, Sem: metric.Discrete,
		Help: "The zone of the machine that is recorded, as the file is called that describes it"}
)

// Own returns the values that a server provides in place of pmcd: for a machine, and its time
// zone at a wall clock. The block has its own descriptions.
func Own(host, zone string, wall int64, version string) *metric.Block {
	tz, file := pcp.Zone(zone, wall)
	b := &metric.Block{Group: &metric.Group{Name: "pmcd"}, Rows: []*metric.Instance{nil}}
	for _, m := range []struct {
		desc  *metric.Desc
		value string
	}{{&pmcdTimezone, tz}, {&pmcdVersion, "Tachograph " + version}, {&pmcdHostname, host}, {&pmcdZoneinfo, file}} {
		d := *m.desc
		b.Group.Metrics = append(b.Group.Metrics, &d)
		var c metric.Column
		c.Push(metric.Value{Type: metric.String, Str: m.value})
		b.Cols = append(b.Cols, c)
	}
	return b
}

// WithOwn returns m for Clients, with the metrics of a block from Own added.
func WithOwn(m Metrics, own *metric.Block) Metrics { return &owning{Metrics: m, own: own} }

type owning struct {
	Metrics
	own *metric.Block

	mu   sync.Mutex
	base *Catalog // the catalog that the others were made from
	all  *Catalog
}

func (o *owning) Catalog() *Catalog {
	base := o.Metrics.Catalog()
	if base == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.base != base {
		all := *base
		all.Descs = append(slices.Clone(base.Descs), o.own.Group.Metrics...)
		o.base, o.all = base, &all
	}
	return o.all
}

func (o *owning) Fetch(ctx context.Context, want []*metric.Desc) (*View, error) {
	rest := slices.DeleteFunc(slices.Clone(want), func(d *metric.Desc) bool { return slices.Contains(o.own.Group.Metrics, d) })
	if len(rest) == len(want) {
		return o.Metrics.Fetch(ctx, want)
	}
	v := &View{}
	if len(rest) > 0 {
		below, err := o.Metrics.Fetch(ctx, rest)
		if err != nil {
			return nil, err
		}
		*v = *below
	}
	v.Blocks = append(slices.Clip(v.Blocks), o.own)
	return v, nil
}
