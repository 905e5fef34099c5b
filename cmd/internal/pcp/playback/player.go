package playback

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// Options say what to play, and how.
type Options struct {
	// Host is the ID of the host whose archives are played.
	Host string
	// From and To are wall clocks: the beginning and the end of what is played. Zero means the
	// beginning and the end of the recording.
	From, To int64
	// Speed is how many seconds of the recording pass in one; 0: time stands still at From.
	Speed float64
	// Loop begins again at the end.
	Loop bool
	Log  *slog.Logger
}

// A Player plays archives. It is a pcpserve.Metrics.
type Player struct {
	opt   Options
	r     *store.Reader
	paths []string

	zone string // of the newest archive
	to   int64  // its last wall clock
	// present plays a recording as it is being written; tests replace it so as not to wait.
	present func(*course) error

	catalog atomic.Pointer[pcpserve.Catalog]
	ready   chan struct{} // closed when the state at the beginning is known
	once    sync.Once

	mu sync.Mutex
	standing
	clock clock
	// horizon is the position of the next item: time waits for it if it is late.
	horizon time.Duration
	began   time.Time               // when playback began
	before  time.Duration           // how much was played before the last new start
	byName  map[string]*metric.Desc // of the catalogue
	behind  bool                    // it has been logged that playback is too slow
}

// Open opens archives: files, directories or bundles. Host can then find the host by itself if
// all are of one.
func Open(paths ...string) (*store.Reader, error) { return store.OpenWith(catalog.Complete, paths...) }

// New makes a Player for the archives in r, which then belongs to the Player; paths are the
// arguments with which r was opened.
func New(opt Options, r *store.Reader, paths ...string) (*Player, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	p := &Player{opt: opt, r: r, paths: paths, ready: make(chan struct{}), present: (*course).follow}
	if _, to, list := query.Covered(r, query.Window{Hosts: []string{opt.Host}}); len(list) == 0 || to == 0 {
		return nil, errors.New("nothing was recorded in these archives")
	}
	p.describe()
	p.forget()
	newest := p.infos()[len(p.infos())-1]
	p.zone, p.to = newest.TimeZone, newest.To
	return p, nil
}

// Close releases the archives. Run must have ended before.
func (p *Player) Close() error { return p.r.Close() }

// Host returns the host with this name or ID, or the only host of the archives if name is "".
func Host(r *store.Reader, name string) (metric.Host, error) {
	hosts := r.Hosts()
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	if name != "" {
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h metric.Host) bool { return h.ID != name && !strings.EqualFold(h.Name, name) })
	}
	switch {
	case len(hosts) == 1:
		return hosts[0], nil
	case len(names) == 0:
		return metric.Host{}, errors.New("nothing was recorded in these archives")
	case len(hosts) == 0:
		return metric.Host{}, fmt.Errorf("no host is called %q; these archives are of %s", name, strings.Join(names, ", "))
	}
	return metric.Host{}, fmt.Errorf("these archives are of several hosts, and one is played at a time: choose it with --host (%s)", strings.Join(names, ", "))
}

// infos returns the archives of the host, in order.
func (p *Player) infos() (list []*store.ArchiveInfo) {
	for _, in := range p.r.Archives() {
		if in.Host.ID == p.opt.Host {
			list = append(list, in)
		}
	}
	return list
}

// describe makes the catalogue: what any archive of the host has, as the newest describes it,
// and what can be computed from that. Metrics that were known keep their pointers. It reports
// whether anything changed.
func (p *Player) describe() bool {
	infos := p.infos()
	newest := infos[len(infos)-1]
	known := make(map[string]*metric.Desc)
	old := p.catalog.Load()
	if old != nil {
		for _, d := range old.Descs {
			known[d.Name] = d
		}
	}
	c := &pcpserve.Catalog{Host: newest.Host, Labels: labels(newest)}
	add := func(d *metric.Desc) {
		if k := known[d.Name]; k != nil && *k == *d {
			d = k
		} else {
			copied := *d
			d = &copied
		}
		c.Descs = append(c.Descs, d)
	}
	computed := make(map[string]bool)
	if platform, ok := catalog.PlatformOf(&newest.Host); ok {
		for _, d := range catalog.Select(platform, func(d *metric.Desc) bool { return d.Formula != "" }) {
			computed[d.Name] = true
			if p.computable(d) {
				add(d)
			}
		}
	}
	for _, d := range p.r.Metrics() {
		if !computed[d.Name] && d.Formula == "" && slices.ContainsFunc(infos, func(in *store.ArchiveInfo) bool { return p.r.LookupIn(in, d.Name) != nil }) {
			add(d)
		}
	}
	slices.SortFunc(c.Descs, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	if old != nil && slices.Equal(old.Descs, c.Descs) && slices.Equal(old.Labels, c.Labels) {
		return false
	}
	p.byName = make(map[string]*metric.Desc)
	for _, d := range c.Descs {
		p.byName[d.Name] = d
	}
	p.catalog.Store(c)
	return true
}

// computable reports whether all inputs of a computed metric are known.
func (p *Player) computable(d *metric.Desc) bool {
	a := recent.New(recent.Keep{})
	a.Describe(p.r.Metrics()...)
	a.Describe(d)
	_, err := query.Compile(a, nil, d.Name)
	return err == nil
}

// labels say which boot and zone an archive is of, and that this is not a live machine.
func labels(in *store.ArchiveInfo) []metric.Label {
	list := []metric.Label{
		{Name: "playback", Value: "true"}, {Name: pcp.SaysBoot, Value: in.BootID}, {Name: pcp.SaysZone, Value: in.TimeZone}, {Name: pcp.SaysRecorder, Value: in.Recorder},
	}
	return slices.DeleteFunc(list, func(l metric.Label) bool { return l.Value == "" })
}

// Catalog returns what was recorded, and what can be computed from it.
func (p *Player) Catalog() *pcpserve.Catalog { return p.catalog.Load() }

// Own returns the metrics that pmcd itself has in a live PCP.
func (p *Player) Own(version string) *metric.Block {
	return pcpserve.Own(p.Catalog().Host.Name, p.zone, p.to, version)
}

// Ready is closed when the state at the beginning is known.
func (p *Player) Ready() <-chan struct{} { return p.ready }

// now returns the present position. The caller holds mu.
func (p *Player) now() time.Duration { return min(p.clock.position(), p.horizon) }
