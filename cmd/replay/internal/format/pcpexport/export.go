package pcpexport

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/query"
	"tachograph/store/rewrite"
)

// Format is the format for replay export.
var Format = export.Format{
	Name:    "pcp",
	Summary: "an archive of Performance Co-Pilot (version 3): OUT.meta, OUT.index, OUT.0 and on",
	Many:    true,
	Write:   write,
}

func write(ctx context.Context, r *export.Request, t export.Target) (*export.Report, error) {
	base := strings.TrimSuffix(t.Path, ".meta")
	hosts := r.HostsIn()
	if len(hosts) > 1 {
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("an archive of PCP is of one host, and these are %s: choose one with --host", cli.Count(len(hosts), "host")+" ("+strings.Join(names, ", ")+")")
	}
	e := &exporter{ctx: ctx, r: r, base: base, force: t.Force, report: &export.Report{}}
	opt := rewrite.ReadOptions{
		From: r.Window.From, To: r.Window.To, Instance: r.Instance, Complete: catalog.Complete, Standing: r.Rare,
		Note: func(l store.Loss) { e.report.Losses = append(e.report.Losses, l) },
	}
	if len(hosts) == 1 {
		opt.Hosts = []string{hosts[0].ID}
	}
	if r.Metrics == nil {
		opt.Metrics = func(d *metric.Desc) bool { return !metric.OfStacks(d.Indom) }
	} else {
		wanted := make(map[string]bool)
		for _, d := range r.Metrics {
			wanted[d.Name] = true
			if d.Formula != "" {
				e.report.Notes = append(e.report.Notes, d.Name+" is computed when it is read, and left out: what it is computed from is "+d.Formula)
			}
		}
		opt.Metrics = func(d *metric.Desc) bool { return wanted[d.Name] }
	}
	for _, in := range r.Archive.Archives() {
		if slices.Contains(opt.Hosts, in.Host.ID) {
			e.total += span(max(in.From, r.Window.From), in.To, r.Window.To)
		}
	}
	if err := t.Spare(pcparchive.Parts(base)...); err != nil {
		return nil, err
	}
	return e.report, e.run(rewrite.Read(opt, r.Paths...))
}

func span(from, to, end int64) int64 {
	if end != 0 {
		to = min(to, end)
	}
	return max(0, to-from)
}

// An exporter writes what is read into an archive.
type exporter struct {
	ctx    context.Context
	r      *export.Request
	base   string
	force  bool
	report *export.Report
	w      *pcparchive.Writer
	space  *pcp.Space

	described map[*pcp.Metric]bool
	plans     map[planKey]*plan
	readings  map[reading]metric.Stamp // the last stamp of each
	rosters   map[uint32]*roster
	numbers   map[string]*numbers
	abouts    map[string]*pcp.Metric
	own       [6]*pcp.Metric
	absent    *pcp.Metric

	info    *archive.Info // the archive that is read now, as hostLabels had it
	boot    string
	wrote   string // the boot of the last record
	host    string
	waiting []*step
	free    []*step
	stood   []*step // what was last read before the window, until its beginning is known
	broken  bool    // a mark record must be written
	first   int64   // time of the first reading; nothing is written with an earlier time
	last    int64   // time of the last record
	any     bool    // there is a record
	read    bool    // there is a record that is not an event
	behind  int64   // how many values are at times before the last record
	sets    []pcparchive.Set
	total   int64
	done    int64
}

// A reading identifies a group in a boot.
type reading struct {
	planKey
	boot string
}

// A step is a record to be written: the blocks of a tick that were read at one time, or an
// event.
type step struct {
	wall   int64
	class  metric.Class
	at     metric.Stamp
	blocks []*metric.Block
	event  *metric.Event
	mark   bool
	boot   string
}

func (e *exporter) run(items iter.Seq2[archive.Item, error]) error {
	e.space = pcp.NewSpace()
	if e.r != nil {
		e.space = spaceOf(e.r.Archive)
	}
	e.described = make(map[*pcp.Metric]bool)
	e.plans = make(map[planKey]*plan)
	e.readings = make(map[reading]metric.Stamp)
	e.rosters = make(map[uint32]*roster)
	e.numbers = make(map[string]*numbers)
	e.abouts = make(map[string]*pcp.Metric)
	for i, d := range []*metric.Desc{&tickClass, &tickAwake, &tickCont, &eventKind, &eventText, &eventAbout} {
		e.own[i] = e.space.Add(d)
	}
	e.absent = e.space.Add(&tickAbsent)
	defer func() {
		if e.w != nil {
			e.w.Abort()
		}
	}()
	for it, err := range items {
		if err == nil {
			err = e.ctx.Err()
		}
		if err == nil {
			err = e.item(&it)
		}
		if err != nil {
			return err
		}
	}
	e.stands(nil)
	if e.first == 0 && len(e.waiting) > 0 {
		e.first = e.waiting[0].wall // there are only events
	}
	if err := e.flush(math.MaxInt64); err != nil {
		return err
	}
	if e.w == nil || e.report.Nothing() != nil {
		return export.ErrNothing
	}
	return e.finish()
}

// spaceOf returns a space with all metrics of the archives, so that names and numbers do not
// depend on what is read first.
func spaceOf(a query.Archive) *pcp.Space {
	space := pcp.NewSpace()
	var in *archive.Info
	for _, one := range a.Archives() {
		in = one
		space.On(platformOf(one))
	}
	for _, d := range a.Metrics() {
		whole := *d
		if in != nil {
			catalog.Complete(&in.Host, &whole)
		}
		space.Add(&whole)
	}
	return space
}

// platformOf returns the platform whose metrics an archive has. Metrics that were imported from
// PCP already have the names and numbers that they had there.
func platformOf(in *archive.Info) string {
	if strings.HasPrefix(in.Recorder, pcp.Imported) {
		return ""
	}
	return in.Host.Platform
}

func (e *exporter) finish() error {
	for _, r := range e.sortedRosters() {
		if err := r.writeLabels(e.w, e.last, true); err != nil {
			return err
		}
	}
	n, err := e.w.Finish()
	if err != nil {
		return err
	}
	e.report.Bytes = n
	if e.behind > 0 {
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s left out: the clock had been set back, and an archive of PCP does not go back in time", cli.Count(e.behind, "value")+map[bool]string{true: " is", false: " are"}[e.behind == 1]))
	}
	return nil
}

// item adds a tick or an event. A tick's values were read a little before or after its time, so
// they wait until nothing earlier can come.
func (e *exporter) item(it *archive.Item) error {
	if err := e.enter(it.Archive); err != nil {
		return err
	}
	if ev := it.Event; ev != nil {
		if ev.Breaks() {
			if err := e.flush(math.MaxInt64); err != nil {
				return err
			}
			e.broken = true
		}
		s := e.step(ev.At.Wall)
		copied := *ev
		s.event = &copied
		return nil
	}
	t := it.Tick
	if it.Standing {
		s := &step{wall: t.At.Wall, at: t.At, class: t.Class, boot: e.boot}
		for _, b := range t.Blocks {
			s.put(b)
		}
		e.stood = append(e.stood, s)
		return nil
	}
	e.stands(t)
	if len(e.waiting) > 0 && t.At.Wall < e.waiting[0].wall-stepBack || len(e.waiting) > most {
		if err := e.flush(math.MaxInt64); err != nil {
			return err
		}
	}
	if err := e.flush(t.At.Wall - early); err != nil {
		return err
	}
	e.progress(it.Archive, t.At.Wall)
	for _, b := range t.Blocks {
		// The answer of a source that was late may be in two ticks.
		key := reading{planKey{b.Group.Name, t.Class}, e.boot}
		if b.At == (metric.Stamp{}) || e.readings[key] == b.At {
			continue
		}
		e.readings[key] = b.At
		e.into(t, b)
	}
	return nil
}

// stands writes the standing values at the time of the first tick, so that they are there for
// all that follows. first is nil if the window has no tick; then they keep their own times.
func (e *exporter) stands(first *metric.Tick) {
	for _, s := range e.stood {
		if first != nil {
			s.wall, s.at = first.At.Wall, first.At
			for _, b := range first.Blocks {
				if b.At != (metric.Stamp{}) && b.At.Wall < s.wall {
					s.wall, s.at = b.At.Wall, b.At
				}
			}
		}
		to := e.step(s.wall)
		to.class, to.at, to.blocks = s.class, s.at, s.blocks
	}
	e.stood = nil
}

const (
	// early is how long before its tick a block may have been read, because reading it began
	// earlier.
	early = int64(5e9)
	// most is how many steps may wait.
	most = 4096
)

// stepBack is how far a tick may lie before what has already been read; if it lies further back,
// the clock was set back.
const stepBack = int64(60e9)

func (e *exporter) progress(in *archive.Info, wall int64) {
	if e.r == nil || e.total == 0 {
		return
	}
	e.r.Done(min(e.total, e.done+max(0, wall-max(in.From, e.r.Window.From))), e.total)
}

// enter notes which archive the next items are from. Nothing is known between two boots, or
// where an archive between two others is missing.
func (e *exporter) enter(in *archive.Info) error {
	if e.info == in {
		return nil
	}
	if e.info != nil {
		e.stands(nil)
		if err := e.flush(math.MaxInt64); err != nil {
			return err
		}
		e.done += span(max(e.info.From, e.r.Window.From), e.info.To, e.r.Window.To)
		if in.BootID != e.info.BootID || in.From-e.info.To > missing {
			e.broken = true
		}
	}
	e.info, e.boot = in, in.BootID
	e.space.On(platformOf(in))
	return nil
}

// missing is the longest gap between two archives that does not count as a missing archive.
const missing = int64(60e9)

// into adds a block to the blocks of its tick that were read at the same time.
func (e *exporter) into(t *metric.Tick, b *metric.Block) {
	for i := len(e.waiting) - 1; i >= 0; i-- {
		if s := e.waiting[i]; s.wall == b.At.Wall && s.class == t.Class && s.event == nil && s.at == b.At {
			s.put(b)
			return
		}
	}
	s := e.step(b.At.Wall)
	s.class, s.at = t.Class, b.At
	s.put(b)
}

// step adds a new step at its place in time.
func (e *exporter) step(wall int64) *step {
	var s *step
	if n := len(e.free); n > 0 {
		s, e.free = e.free[n-1], e.free[:n-1]
	} else {
		s = &step{}
	}
	s.wall, s.event, s.boot, s.blocks = wall, nil, e.boot, s.blocks[:0]
	s.mark, e.broken = e.broken, false
	at := len(e.waiting)
	for at > 0 && e.waiting[at-1].wall > wall {
		at--
	}
	e.waiting = slices.Insert(e.waiting, at, s)
	return s
}

// put keeps a copy of a block, in the memory of an earlier copy.
func (s *step) put(b *metric.Block) {
	var to *metric.Block
	if n := len(s.blocks); n < cap(s.blocks) && s.blocks[:n+1][n] != nil {
		s.blocks = s.blocks[:n+1]
		to = s.blocks[n]
	} else {
		to = &metric.Block{}
		s.blocks = append(s.blocks, to)
	}
	to.Copy(b)
}

// flush writes the steps before a time.
func (e *exporter) flush(before int64) error {
	if e.first == 0 && !e.begin() {
		return nil
	}
	for len(e.waiting) > 0 && e.waiting[0].wall < before {
		n := 1
		for n < len(e.waiting) && e.waiting[n].wall == e.waiting[0].wall {
			n++
		}
		if err := e.together(e.waiting[:n]); err != nil {
			return err
		}
		e.free = append(e.free, e.waiting[:n]...)
		e.waiting = e.waiting[:copy(e.waiting, e.waiting[n:])]
	}
	return nil
}

// begin finds the time at which the archive begins: that of the first values, not that of an
// event such as a boot. It returns false if that is not known yet.
func (e *exporter) begin() bool {
	for _, s := range e.waiting {
		if s.event == nil {
			e.first = s.wall
			return true
		}
	}
	return false
}
