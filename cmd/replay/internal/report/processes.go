package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	// mostNames is how many names of processes a stack shows; the rest are added up.
	mostNames = 9
	// allNames is as good as all: a page that is being continued keeps its own names, and adds
	// up the others itself.
	allNames = 250
	// mostSweeps is how many process tables a page has, mostOfSweep how many processes each of
	// them shows.
	mostSweeps, mostOfSweep = 1500, 60
	// mostProcesses bounds the number of different processes in all tables.
	mostProcesses = 200_000
)

// spread distributes what was used between two instants over columns.
func (g grid) spread(from, to int64, x float64, out []float64) {
	k := g.column(to)
	first := k
	if to-from > g.step {
		first = max(g.column(from)+1, 0)
	}
	if k < 0 || first > k {
		return
	}
	x /= float64(k - first + 1)
	for i := first; i <= min(k, g.n-1); i++ {
		out[i] += x
	}
}

// sweepTimes are when processes were read, in rising order, and the length of time that each reading describes:
// the longest of any process.
type sweepTimes struct{ wall, length []int64 }

// note notes a reading. at is where it may be already. note returns where the next one may be.
func (r *sweepTimes) note(at int, wall, length int64) int {
	if at >= len(r.wall) || r.wall[at] != wall {
		known := false
		if at, known = slices.BinarySearch(r.wall, wall); !known {
			r.wall, r.length = slices.Insert(r.wall, at, wall), slices.Insert(r.length, at, length)
		}
	}
	r.length[at] = max(r.length[at], length)
	return at + 1
}

// of returns the length of time of a reading; 0 if there is none.
func (r *sweepTimes) of(wall int64) int64 {
	if at, known := slices.BinarySearch(r.wall, wall); known {
		return r.length[at]
	}
	return 0
}

// sweeper reads all processes once, for the stacks and for the tables.
type sweeper struct {
	c                *collector
	piles            []*pile // by name, and by owner if that was recorded
	footprints       bool
	used, held       sweepTimes // of counters and of levels
	cells            grid
	step             int64 // how far apart the tables are
	entries          map[*instance]*life
	sweeps           map[int]*sweep
	ids              map[lifeID]int
	table            *Processes
	nameIDs, userIDs map[string]int
	shown            []owned // the processes in tables
}

type instance = metric.Instance

type lifeID struct{ boot, key string }

// owned is a process and the number of its user.
type owned struct {
	lifeID
	owner string
}

// life holds the readings of a process in a stretch of time.
type life struct {
	boot string
	rows []entry
}

// entry is a process at one reading.
type entry struct {
	cell                               int
	wall                               int64
	cpu, memory, read, written, thread float64
}

// sweep is one process table.
type sweep struct {
	wall  int64
	total int
	rows  []row
}

type row struct {
	entry
	process int
}

// processes reads the stacks of processes and the tables.
func (c *collector) processes() error {
	most := mostNames
	if c.r.Brief {
		most = allNames
	}
	bys := []query.By{query.ByCPU, query.ByMemory, query.ByRead, query.ByWrite}
	counters := []query.ProcessCounter{query.UserTime, query.SystemTime, query.ReadBytes, query.WrittenBytes}
	if d := c.a.Lookup("proc.net.in_bytes"); d != nil && d.Unsupported == "" {
		bys = append(bys, query.ByNet)
		counters = append(counters, query.NetIn, query.NetOut)
	}
	top, err := query.TopNames(c.a, c.w, 4*most, bys...)
	if err != nil {
		return err
	}
	c.rankings = top
	if len(top[0].Consumers)+len(top[1].Consumers) == 0 {
		return nil
	}
	levels := []query.ProcessLevel{query.Footprint, query.Resident}
	about := lastName
	var owners []*query.Ranking
	if query.OwnersRecorded(c.a) {
		if owners, err = query.TopOwners(c.a, c.w, 4*most, bys...); err != nil {
			return err
		}
	}
	s, spans := c.newSweeper(most, owners), false
	if c.w.To-c.w.From >= longWindow && !c.r.Brief {
		if spans, err = s.readSpans(counters, levels); err != nil {
			return err
		}
	}
	if spans {
		about += s.spansText()
	} else {
		s = c.newSweeper(most, owners)
		err = query.ProcessRuns(c.a, c.w, counters, append(levels, query.Threads), s.take, func(end int64) error {
			s.settle()
			return s.progress(end)
		})
		if err != nil {
			return err
		}
	}
	for i, by := range s.piles {
		id, whose, of := "processes", "process", "processes of the same name"
		if i > 0 {
			id, whose, of = "owners", "owner", "the processes of an app, a service, a container or a session together"
		}
		c.stackPlot(id+"-cpu", "CPU by "+whose, "Of "+of+", as a share of one core. All together are at no time more than the machine has: what was read of them late is drawn before."+about, by.cpu, &s.used, shares, c.cores)
		c.stackPlot(id+"-memory", "Memory by "+whose, "What "+of+" held."+about, by.memory, &s.held, sizes, 0)
		c.stackPlot(id+"-io", "Disk traffic by "+whose, "Read and written by "+of+"."+about, by.io, &s.used, sizesASecond, 0)
		if by.net != nil {
			c.stackPlot(id+"-net", "Network traffic by "+whose, "Received and sent over connections by "+of+", without what was sent again."+about, by.net, &s.used, sizesASecond, 0)
		}
	}
	s.users()
	s.finish()
	return nil
}

// newSweeper returns a sweeper with nothing in it, whose stacks show the most names of the rankings.
func (c *collector) newSweeper(most int, owners []*query.Ranking) *sweeper {
	s := &sweeper{c: c, entries: make(map[*instance]*life),
		sweeps: make(map[int]*sweep), ids: make(map[lifeID]int), table: &Processes{}, nameIDs: make(map[string]int), userIDs: make(map[string]int)}
	add := func(top []*query.Ranking, of func(*instance) string, title func(*query.Consumer) string) {
		names := func(list []*query.Consumer) *stack { return newStack(namesOf(list, most, title), c.grid.n) }
		p := &pile{of: of, cpu: names(top[0].Consumers), memory: names(top[1].Consumers), io: names(byTraffic(top[2], top[3]))}
		if len(top) > byNet {
			p.net = names(top[byNet].Consumers)
		}
		s.piles = append(s.piles, p)
	}
	add(c.rankings, query.ProcessName, func(c *query.Consumer) string { return c.Name })
	if owners != nil && len(owners[0].Consumers)+len(owners[1].Consumers) > 0 {
		whose := func(in *instance) string { return query.WhoseIs(in).Words(0) }
		add(owners, whose, func(c *query.Consumer) string { return whose(c.Instance) })
	}
	s.cells = newGrid(c.w.From, c.w.To, max(stepOf(c.w.To-c.w.From, mostSweeps), c.sweepInterval()), mostSweeps)
	s.step = s.cells.step
	return s
}

// byNet is the place of the ranking by network traffic among the rankings, if there is one.
const byNet = 4

// progress reports that processes were read up to an instant.
func (s *sweeper) progress(end int64) error {
	c := s.c
	if c.r.Progress != nil {
		c.r.Progress(plotsShare + (1-plotsShare)*float64(end-c.w.From)/float64(c.w.To-c.w.From+1))
	}
	return c.ctx.Err()
}

// users finds the users of the processes in the tables: their names if the archive has them,
// else their numbers.
func (s *sweeper) users() {
	keys := make([]string, 0, len(s.ids))
	for id := range s.ids {
		keys = append(keys, id.key)
	}
	slices.Sort(keys)
	users := make(map[lifeID]string)
	if s.c.a.Lookup("proc.id.uid_nm") != nil && len(keys) > 0 {
		sel := s.c.w.Selection("proc.id.uid_nm")
		sel.Keys, sel.Prior = slices.Compact(keys), true
		for run := range s.c.a.Select(sel) {
			last := len(run.Wall) - 1
			if run.Instance != nil && run.Metric.Type == metric.String && (run.Miss == nil || run.Miss[last] == metric.Present) {
				users[lifeID{run.Archive.BootID, run.Instance.Key}] = run.Word(last)
			}
		}
	}
	for id, of := range s.shown {
		name, ok := users[of.lifeID]
		if !ok {
			name = of.owner
		}
		s.table.User[id] = number(s.userIDs, &s.table.Users, cut(name))
	}
}

// lastName says which name counts for a process that started another program with exec.
const lastName = " After an exec all of a process counts under its new name."

// sweepInterval returns how often processes were read.
func (c *collector) sweepInterval() int64 {
	if every := c.archives[len(c.archives)-1].Intervals[metric.Process]; every > 0 && every < metric.Once {
		return int64(every)
	}
	return 0
}

func known(x float64) float64 {
	if x != x {
		return 0
	}
	return x
}

// stackOf returns which stack of a pile a field belongs to, nil if it has none.
func (s *sweeper) stackOf(counter query.ProcessCounter, level query.ProcessLevel) func(*pile) *stack {
	switch {
	case counter == query.UserTime || counter == query.SystemTime:
		return func(p *pile) *stack { return p.cpu }
	case counter == query.ReadBytes || counter == query.WrittenBytes:
		return func(p *pile) *stack { return p.io }
	case counter == query.NetIn || counter == query.NetOut:
		return func(p *pile) *stack { return p.net }
	case level == query.Footprint:
		s.footprints = true
	case level != query.Resident || s.footprints:
		return nil
	}
	return func(p *pile) *stack { return p.memory }
}

// take adds one field of one process.
func (s *sweeper) take(r *query.ProcessRun) {
	of := s.stackOf(r.Counter, r.Level)
	var stacks []*stack
	var names []int
	for _, p := range s.piles {
		if of != nil {
			to := of(p)
			stacks, names = append(stacks, to), append(names, to.index(p.of(r.Instance)))
		}
	}
	held := of != nil && r.Counter == query.NumProcessCounters
	l := s.entries[r.Instance]
	if l == nil {
		l = &life{boot: r.Archive.BootID}
		s.entries[r.Instance] = l
	}
	g := s.c.grid
	next, at := 0, 0
	for i, wall := range r.Wall {
		x, length := r.Values[i], int64(r.Seconds[i]*1e9)
		if x == x && length > 0 {
			switch {
			case of == nil:
			case held:
				at = s.held.note(at, wall, length)
				for k, to := range stacks {
					to.add(g, names[k], wall-length, wall, float64(x*r.Seconds[i]), false)
				}
			default:
				at = s.used.note(at, wall, length)
				for k, to := range stacks {
					to.add(g, names[k], wall-length, wall, x, r.Instance.Began() >= wall-length)
				}
			}
		}
		cell := s.cells.column(wall)
		if i+1 < len(r.Wall) && s.cells.column(r.Wall[i+1]) == cell {
			continue // Only the last reading of each cell is shown.
		}
		next = l.place(next, cell)
		l.rows[next].set(r, i, wall)
	}
}

// place finds the row of a cell, beginning at row from, or makes it.
func (l *life) place(from, cell int) int {
	for from < len(l.rows) && l.rows[from].cell < cell {
		from++
	}
	if from == len(l.rows) || l.rows[from].cell != cell {
		unknown := math.NaN()
		l.rows = slices.Insert(l.rows, from, entry{cell: cell, cpu: unknown, memory: unknown, read: unknown, written: unknown, thread: unknown})
	}
	return from
}

// set puts one value into a row, and discards earlier readings in the same cell.
func (e *entry) set(r *query.ProcessRun, i int, wall int64) {
	if wall < e.wall {
		return
	}
	if wall > e.wall {
		unknown := math.NaN()
		*e = entry{cell: e.cell, wall: wall, cpu: unknown, memory: unknown, read: unknown, written: unknown, thread: unknown}
	}
	x := r.Values[i]
	e.put(r.Counter, r.Level, x, x/r.Seconds[i])
}

// put puts one value into a row: rate if it is that of a counter, else x.
func (e *entry) put(counter query.ProcessCounter, level query.ProcessLevel, x, rate float64) {
	switch {
	case counter == query.UserTime || counter == query.SystemTime:
		switch {
		case rate != rate:
		case e.cpu == e.cpu:
			e.cpu += rate
		default:
			e.cpu = rate
		}
	case counter == query.ReadBytes:
		e.read = rate
	case counter == query.WrittenBytes:
		e.written = rate
	case level == query.Footprint:
		e.memory = x
	case level == query.Resident && e.memory != e.memory:
		e.memory = x
	case level == query.Threads:
		e.thread = x
	}
}

// settle makes tables from what was read in a stretch of time.
func (s *sweeper) settle() {
	for _, p := range s.piles {
		p.settle(s.c.grid, &s.used)
	}
	last := make(map[int]int64)
	for _, l := range s.entries {
		for i := range l.rows {
			last[l.rows[i].cell] = max(last[l.rows[i].cell], l.rows[i].wall)
		}
	}
	byCell := make(map[int][]shown)
	for in, l := range s.entries {
		for i := range l.rows {
			if e := &l.rows[i]; e.wall == last[e.cell] && e.cell >= 0 {
				byCell[e.cell] = append(byCell[e.cell], shown{in, l.boot, e})
			}
		}
	}
	clear(s.entries)
	for _, cell := range slices.Sorted(maps.Keys(byCell)) {
		if last[cell] <= s.c.r.Since {
			continue
		}
		list := byCell[cell]
		sw := &sweep{wall: last[cell], total: len(list)}
		for _, one := range foremost(list) {
			if id, ok := s.process(one); ok {
				sw.rows = append(sw.rows, row{*one.entry, id})
			}
		}
		s.sweeps[cell] = sw
	}
}

// shown is a process in a table.
type shown struct {
	in   *metric.Instance
	boot string
	*entry
}

// foremost returns the processes of a table that used most of anything.
func foremost(list []shown) []shown {
	// A key names one process of a boot. Where the clock was set back, two boots have readings at one instant.
	slices.SortFunc(list, func(x, y shown) int { return cmp.Or(cmp.Compare(x.in.Key, y.in.Key), cmp.Compare(x.boot, y.boot)) })
	if len(list) <= mostOfSweep {
		return list
	}
	chosen := make(map[*entry]bool)
	for _, by := range []func(*entry) float64{
		func(e *entry) float64 { return known(e.cpu) },
		func(e *entry) float64 { return known(e.memory) },
		func(e *entry) float64 { return known(e.read) + known(e.written) },
	} {
		ranked := slices.Clone(list)
		slices.SortStableFunc(ranked, func(x, y shown) int { return cmp.Compare(by(y.entry), by(x.entry)) })
		for i, one := range ranked[:mostOfSweep/3] {
			if i > 0 && by(one.entry) == 0 {
				break
			}
			chosen[one.entry] = true
		}
	}
	return slices.DeleteFunc(list, func(one shown) bool { return !chosen[one.entry] })
}

// process returns the number of a process among those in tables.
func (s *sweeper) process(one shown) (int, bool) {
	key := lifeID{one.boot, one.in.Key}
	id, ok := s.ids[key]
	if ok {
		return id, true
	}
	if id = len(s.ids); id == mostProcesses {
		return 0, false
	}
	key.key = strings.Clone(key.key) // Without the chunk that it was read from.
	s.ids[key] = id
	t := s.table
	t.PIDs = append(t.PIDs, query.ProcessID(one.in))
	t.Name = append(t.Name, number(s.nameIDs, &t.Names, cut(query.ProcessName(one.in))))
	t.User, s.shown = append(t.User, 0), append(s.shown, owned{key, strings.Clone(one.in.UserID())})
	t.Began = append(t.Began, math.Round(float64(one.in.Began())/1e9))
	return id, true
}

// number returns the place of a text in a list without duplicates, adding it if it is new.
func number(ids map[string]int, list *[]string, text string) int {
	id, ok := ids[text]
	if !ok {
		id = len(*list)
		text = strings.Clone(text)
		ids[text] = id
		*list = append(*list, text)
	}
	return id
}

// finish packs the tables: rows by process and time, so that neighbours are alike.
func (s *sweeper) finish() {
	type at struct {
		sweep int
		*row
	}
	var rows []at
	for _, cell := range slices.Sorted(maps.Keys(s.sweeps)) {
		sw := s.sweeps[cell]
		for i := range sw.rows {
			rows = append(rows, at{len(s.table.At), &sw.rows[i]})
		}
		s.table.At = append(s.table.At, milli(sw.wall))
		s.table.Totals = append(s.table.Totals, sw.total)
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(x, y at) int { return cmp.Compare(x.process, y.process) })
	b := &s.c.page.blocks
	whole := func(of func(at) int) int {
		list := make([]uint32, len(rows))
		for i, r := range rows {
			list[i] = uint32(of(r))
		}
		return b.bits(list)
	}
	values := func(of func(at) float64) int {
		list := make([]float64, len(rows))
		for i, r := range rows {
			list[i] = of(r)
		}
		return b.floats(list)
	}
	t := s.table
	t.Step = milli(s.step)
	t.Process, t.Sweep = whole(func(r at) int { return r.process }), whole(func(r at) int { return r.sweep })
	t.CPU, t.Memory = values(func(r at) float64 { return r.cpu }), values(func(r at) float64 { return r.memory })
	t.Read, t.Written = values(func(r at) float64 { return r.read }), values(func(r at) float64 { return r.written })
	t.Threads = values(func(r at) float64 { return r.thread })
	s.c.page.doc.Processes = t
}

// stackPlot adds the plot of a stack: what was used, divided by the time in which processes were
// read. If whole is not 0, it limits the sum to whole times that time.
func (c *collector) stackPlot(id, title, about string, s *stack, r *sweepTimes, of *measure, whole float64) {
	covered := make([]float64, c.grid.n)
	seconds, before := 0.0, int64(0)
	for i, wall := range r.wall {
		length := r.length[i]
		if wall-before < length*3/2 {
			length = wall - before // The clock was set a little, or a process was missing in one reading.
		}
		before = wall
		c.grid.spread(wall-length, wall, float64(length)/1e9, covered)
		seconds += float64(length) / 1e9
	}
	p := &Plot{ID: id, Group: "Processes", Title: title, About: about, Form: of.form, Stacked: true}
	totals := make([]float64, len(s.sums))
	for i, sum := range s.sums {
		for k := range sum {
			totals[i] += sum[k]
		}
	}
	if whole > 0 {
		level(s.sums, covered, whole)
	}
	for i, sum := range s.sums {
		total, most := totals[i], 0.0
		for k := range sum {
			if covered[k] == 0 {
				sum[k] = math.NaN()
				continue
			}
			sum[k] /= covered[k]
			most = max(most, sum[k])
		}
		if total == 0 {
			continue
		}
		p.Series = append(p.Series, &Line{Name: cut(s.names[i]), Rest: i == len(s.sums)-1, Average: of.write(total / seconds), Most: of.write(most), Mean: c.page.blocks.floats(sum)})
	}
	if len(p.Series) > 0 {
		c.describe(p)
		c.page.doc.Plots = append(c.page.doc.Plots, p)
	}
}
