package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// suspect is a process that is among those that used most of something.
type suspect struct {
	*query.Consumer
	pid  int
	rows []query.HistoryRow
	// ended is when it ended and how the way in which it did, if that was recorded.
	ended int64
	how   string
}

const (
	// suspects is how many processes are examined for each thing they use.
	suspects = 6
	// leastStep is the shortest step in which the lives of processes are read.
	leastStep = int64(5e9)
	// settles is how many seconds a use must last to weigh half of what it would if it went on
	// for ever.
	settles = 15
	// wholeCore is the share of the machine that one core counts as at least.
	wholeCore = 0.11
	// littleMemory is the share of all memory that ordinary work may take for a while.
	littleMemory = 0.1
)

// aspect is something that processes use, and how a suspect's use of it is judged; judge returns
// nil if there is nothing to say.
type aspect struct {
	by    query.By
	judge func(q *question, s *suspect, n *norm) *deed
}

// deed is the judgement of a suspect's use of one thing.
type deed struct {
	kind         string
	weight       float64
	clause       string
	explains     []string
	since, until int64
	topic        string
	level        float64
}

var aspects = []aspect{
	{query.ByCPU, (*question).judgeCPU},
	{query.ByMemory, (*question).judgeMemory},
	{query.ByWrite, (*question).judgeWrites},
	{query.ByRead, (*question).judgeReads},
}

// processes finds those that used far more than is usual for them. The crowds come first: reading
// all processes at once takes most memory, and takes less the less has been read already.
func (q *question) processes() ([]*finding, error) {
	if err := q.learn(); err != nil {
		return nil, err
	}
	crowds := q.crowds(query.TopNames, q.namesake)
	var owners []*finding
	if query.OwnersRecorded(q.a) {
		owners = q.crowds(query.TopOwners, q.owner)
	}
	list, err := q.suspects()
	if err != nil {
		return nil, err
	}
	var out []*finding
	for _, s := range list {
		if f := q.accuse(s, q.normal(s.Name)); f != nil {
			out = append(out, f)
		}
	}
	return q.owned(beside(alike(out), crowds), owners), nil
}

// suspects returns the processes that used most of each thing in the window, with their lives in
// it.
func (q *question) suspects() ([]*suspect, error) {
	byKey := make(map[string]*suspect)
	var list []*suspect
	var pids []string
	most := suspects
	if q.w.To-q.w.From > longest {
		most = suspects / 2 // Lives of hours take long to read.
	}
	tops := make([]*query.Ranking, len(aspects)) // nil where that is not recorded
	rank := func(from, to int) func(query.Archive) error {
		return func(a query.Archive) error {
			for i := from; i < to && q.ctx.Err() == nil; i++ {
				tops[i], _ = query.Top(a, q.w, aspects[i].by, query.PerProcess, most)
			}
			return q.ctx.Err()
		}
	}
	if err := query.Beside(q.a, rank(0, len(aspects)/2), rank(len(aspects)/2, len(aspects))); err != nil {
		return nil, err
	}
	for i, as := range aspects {
		if tops[i] == nil {
			continue
		}
		for _, c := range tops[i].Consumers {
			if byKey[c.Instance.Key] == nil && c.Amount(as.by) > 0 {
				s := &suspect{Consumer: c, pid: query.ProcessID(c.Instance)}
				byKey[c.Instance.Key] = s
				list = append(list, s)
				pids = append(pids, strconv.Itoa(s.pid))
			}
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	m, err := query.NewMatcher(pids)
	if err != nil {
		return nil, err
	}
	lives, _, err := query.Histories(q.a, q.w, m, max(q.field.width, leastStep), nil, 0, false)
	if err != nil {
		return nil, err
	}
	for _, h := range lives {
		if s := byKey[h.Instance.Key]; s != nil {
			s.rows = h.Rows
			if h.Exit != nil {
				s.ended, s.how = h.Exit.At.Wall, h.Exit.Label("how")
			}
		}
	}
	return list, nil
}

// accuse makes a finding of what a suspect used; nil if that was not much.
func (q *question) accuse(s *suspect, n *norm) *finding {
	var uses []*deed
	for _, as := range aspects {
		if u := as.judge(q, s, n); u != nil && u.weight >= leastWeight/2 {
			uses = append(uses, u)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	slices.SortStableFunc(uses, func(x, y *deed) int { return cmp.Compare(y.weight, x.weight) })
	first := uses[0]
	f := &finding{kind: first.kind, who: s.Name, title: s.title(), whose: query.WhoseIs(s.Instance), topic: first.topic, cause: true, since: first.since, until: first.until, weight: first.weight, level: first.level,
		more: append([]string{"ps", strconv.Itoa(s.pid)}, span(q.w.From, q.w.To)...)}
	f.text = f.title + " " + first.clause
	f.sources = sourcesOf(s.Instance.Name, s.Instance.Key, sourcesOfKind[first.kind]...)
	for _, u := range uses {
		f.explains = append(f.explains, u.explains...)
		f.since = min(f.since, u.since)
		if u != first && 2*u.weight >= first.weight {
			f.text += ", " + u.clause
		}
	}
	if s.how != "" && s.how != "exit 0" {
		f.text += fmt.Sprintf("; it ended at %s: %s", q.show(s.ended), s.how)
		f.ends = []string{s.Instance.Key}
	}
	return f
}

// sourcesOfKind are the metrics that deeds of a kind are judged by.
var sourcesOfKind = map[string][]string{
	"runaway": {"proc.psinfo.utime", "proc.psinfo.stime"}, "memory": {"proc.memory.rss", "proc.memory.footprint"},
	"writer": {"proc.io.write_bytes"}, "reader": {"proc.io.read_bytes"},
}

// title names a process, and says whose it is.
func (s *suspect) title() string {
	beside := query.WhoseIs(s.Instance).Beside(s.Name)
	if s.User == "" {
		return fmt.Sprintf("%s (pid %d)%s", s.Name, s.pid, beside)
	}
	user := s.User
	if _, err := strconv.Atoi(user); err == nil {
		user = "uid " + user // Its user has no name there.
	}
	return fmt.Sprintf("%s (pid %d, %s)%s", s.Name, s.pid, user, beside)
}

// novel returns how new a use is, 0 to 1, given the usual amount.
func novel(usual, now float64) float64 {
	if !(now > 0) {
		return 0
	}
	const little, much = 0.15, 0.6 // of it are usual
	return 1 - float64(0.9*min(max((orZero(usual)/now-little)/(much-little), 0), 1))
}

func (q *question) judgeCPU(s *suspect, n *norm) *deed {
	var shares []float64
	for i := range s.rows {
		shares = append(shares, s.rows[i].CPU())
	}
	// Where others need the processors as well, no process gets a whole core.
	lo, hi := hot(shares, max(0.08, quantile(shares, 0.9)/4), q.shows(s))
	if hi == lo {
		return nil
	}
	since, until := q.rowTimes(s, lo, hi, thingCPU)
	long := float64(until-since) / 1e9
	share := mean(shares[lo:hi])
	if !(share >= 0.05) || long < 4 {
		return nil
	}
	usual := n.usual(thingCPU)
	before := usual.amount
	if !usual.known {
		before = max(before, q.calmShare(s))
	}
	u := &deed{kind: "runaway", topic: "cpu", level: share, since: since, until: until, explains: []string{"cpu", "thermal", "load", "listen"}}
	// A whole core may be a loop, however many cores there are. If many processes need a core,
	// each gets only a part of it.
	alone := min(share*max(0.7*q.level("load", since, until), 1), 1)
	u.weight = grave(max((share-before)/q.cores, wholeCore*alone*alone)) * long / (long + settles) * n.novel(thingCPU, share)
	u.weight *= q.changed(since, until)
	u.clause = fmt.Sprintf("used %s of a core for %s%s", human.Percent(share), human.Seconds(long), q.when(since, until)) + q.against(human.Percent(before))
	return u
}

// changed returns what part of its weight a use keeps: less where it went on for the whole window
// and nothing shows what is usual.
func (q *question) changed(since, until int64) float64 {
	if q.calm.To == 0 && 10*(until-since) > 9*(q.w.To-q.w.From) {
		return 0.4
	}
	return 1
}

// level returns the mean of a signal from one instant to another.
func (q *question) level(name string, since, until int64) float64 {
	for _, c := range q.field.of[name] {
		lo, hi := q.field.slots(query.Window{From: since, To: until})
		return orZero(mean(c.x[lo:max(hi, lo)]))
	}
	return 0
}

// shows reports whether a row of a life lies in the window.
func (q *question) shows(s *suspect) func(i int) bool {
	return func(i int) bool {
		at := s.rows[i].At
		return at > q.shown.From && at <= q.shown.To+leastStep
	}
}

// hot returns the longest stretch of values over a limit that contains a value which counts
// accepts; up to two values below the limit do not end it.
func hot(x []float64, limit float64, counts func(i int) bool) (lo, hi int) {
	for i := 0; i < len(x); i++ {
		if !(x[i] >= limit) {
			continue
		}
		end, in := i+1, counts(i)
		for j := i + 1; j < len(x) && j-end < 3; j++ {
			if x[j] >= limit {
				end, in = j+1, in || counts(j)
			}
		}
		if in && end-i > hi-lo {
			lo, hi = i, end
		}
		i = end
	}
	return lo, hi
}

// rowTimes returns from when to when some rows of a life extend.
func (q *question) rowTimes(s *suspect, lo, hi, thing int) (since, until int64) {
	since = max(s.From, s.Start, q.w.From-leastStep)
	if s.Start == 0 {
		since = s.From
	}
	if lo > 0 {
		since = s.rows[lo-1].At
	} else if s.Start == 0 || s.Start < q.w.From {
		since = max(s.rows[0].At-max(q.field.width, leastStep), s.From)
		if st := q.stint(s.Name, thing); st.since > 0 && st.until > since { // It may have begun before the window.
			since = min(since, st.since)
		}
	}
	return since, s.rows[hi-1].At
}

// calmShare returns the share of a core that a process used in the calm stretch.
func (q *question) calmShare(s *suspect) float64 {
	if q.calm.To == 0 {
		return 0
	}
	if q.calmCPU == nil {
		q.calmCPU = make(map[string]float64)
		if top, err := query.Top(q.a, q.calm, query.ByCPU, query.PerProcess, 40); err == nil {
			for _, c := range top.Consumers {
				q.calmCPU[c.Instance.Key] = top.CPU(c)
			}
		}
	}
	return q.calmCPU[s.Instance.Key]
}

func (q *question) judgeMemory(s *suspect, n *norm) *deed {
	lowest, grown, lo, hi := math.Inf(1), 0.0, 0, 0
	low := 0
	for i := range s.rows {
		m := s.rows[i].Memory()
		if m != m {
			continue
		}
		if m < lowest {
			lowest, low = m, i
		}
		if m-lowest > grown {
			grown, lo, hi = m-lowest, low, i
		}
	}
	first := lowest
	born := s.Start > q.w.From || s.Start == 0 && s.From > q.w.From+leastStep
	if born && s.Peak > grown {
		grown, first, lo = s.Peak, 0, 0
		for hi = range s.rows {
			if s.rows[hi].Memory() >= 0.95*s.Peak {
				break
			}
		}
	}
	for k := lo; k < hi; k++ { // It begins where it last held hardly more than at first.
		if s.rows[k].Memory() <= first+grown/20 {
			lo = k
		}
	}
	share := grown / max(q.memory, 1)
	if q.memory == 0 {
		share = grown / 16e9
	}
	if len(s.rows) == 0 || grown < 64<<20 || share < 0.02 {
		return q.judgeHeld(s, n)
	}
	peak := max(s.Peak, first+grown)
	u := &deed{kind: "memory", topic: "memory", level: peak, since: s.rows[lo].At, until: s.rows[hi].At, explains: []string{"memory", "swap", "disk", "load"}}
	if first == 0 && s.Start != 0 {
		u.since = s.Start
	}
	u.weight = grade(0.22, 0.75*min(1.4*share, 1)) * n.novel(thingPeak, peak)
	if born && s.ended != 0 && share < littleMemory && s.how != "signal 9" {
		u.weight *= 0.6 // It took what its work needed, and has given it back.
	}
	from := "grew from " + human.Bytes(first)
	if first == 0 {
		from = "grew"
	}
	grew := u.until - u.since
	for k := hi; k < len(s.rows); k++ { // What was taken is held.
		if s.rows[k].Memory() >= first+float64(grown/2) {
			u.until = s.rows[k].At
		}
	}
	u.clause = fmt.Sprintf("%s to %s in %s from %s", from, human.Bytes(peak), human.Seconds(math.Max(float64(grew)/1e9, 1)), q.show(u.since))
	if q.memory > 0 {
		u.clause += fmt.Sprintf(", %s of all memory", human.Percent(peak/q.memory))
	}
	return u
}

// judgeHeld judges the memory of a process that had grown before the window and holds what it
// took.
func (q *question) judgeHeld(s *suspect, n *norm) *deed {
	if len(s.rows) == 0 || s.Start > q.w.From || s.Peak < 0.8*0.05*q.memory || q.memory == 0 {
		return nil
	}
	held := q.stint(s.Name, thingPeak)
	share := held.excess() / q.memory
	if !held.known || held.usual == 0 || share < 0.05 || s.Peak < 0.8*held.level {
		return nil
	}
	u := &deed{kind: "memory", topic: "memory", level: held.level, since: held.since, until: held.until, explains: []string{"memory", "swap", "disk", "load"}}
	u.weight = grade(0.22, 0.75*min(1.4*share, 1)) * n.novel(thingPeak, held.level)
	u.clause = fmt.Sprintf("held %s, %s of all memory%s%s", human.Bytes(held.level), human.Percent(held.level/q.memory), q.when(held.since, held.until), q.against(human.Bytes(held.usual)))
	return u
}

func (q *question) judgeWrites(s *suspect, n *norm) *deed {
	return q.judgeIO(s, query.WrittenBytes, "writer", "wrote", n, thingWritten)
}

func (q *question) judgeReads(s *suspect, n *norm) *deed {
	return q.judgeIO(s, query.ReadBytes, "reader", "read", n, thingRead)
}

func (q *question) judgeIO(s *suspect, counter query.ProcessCounter, kind, verb string, n *norm, thing int) *deed {
	total := s.Gains[counter]
	var rates []float64
	for i := range s.rows {
		rates = append(rates, s.rows[i].Rates[counter])
	}
	lo, hi := hot(rates, max(leastFlow, quantile(rates, 0.9)/3), q.shows(s))
	if hi == lo {
		return nil
	}
	since, until := q.rowTimes(s, lo, hi, thing)
	rate, long := mean(rates[lo:hi]), float64(until-since)/1e9
	if q.flow(s.Name, rate, total, since, until) == 0 {
		return nil
	}
	others := q.adopted(s, sourcesOfKind[kind][0], rate*long, since, until)
	rate, total = rate-others/max(long, 1), total-others
	heavy := q.flow(s.Name, rate, total, since, until)
	if heavy == 0 || total <= 0 {
		return nil
	}
	u := &deed{kind: kind, topic: "disk", level: rate, since: since, until: until, explains: []string{"disk", "load"}}
	u.weight = heavy * long / (long + settles) * n.novel(thing, rate)
	u.clause = fmt.Sprintf("%s %s, %s/s%s", verb, human.Bytes(total), human.Bytes(rate), q.when(since, until))
	return u
}

// alike joins the findings of several processes of one program.
func alike(list []*finding) []*finding {
	slices.SortStableFunc(list, func(x, y *finding) int { return cmp.Compare(y.weight, x.weight) })
	first := make(map[string]*finding)
	more := make(map[*finding]int)
	var out []*finding
	for _, f := range list {
		if g := first[f.who]; g != nil {
			more[g]++
			if f.whose != g.whose {
				g.whose = query.Whose{}
			}
			if f.until+leastStep >= g.since { // Else it was another time.
				g.since = min(g.since, f.since)
			}
			for _, topic := range f.explains {
				if !slices.Contains(g.explains, topic) {
					g.explains = append(g.explains, topic)
				}
			}
			continue
		}
		first[f.who] = f
		out = append(out, f)
	}
	for _, f := range out {
		if n := more[f]; n > 0 {
			f.text += fmt.Sprintf("; %s of that name did likewise", cli.Count(n, "other process"))
		}
	}
	return out
}

// beside puts crowds among findings of single processes: where both are about the same name, the
// weightier one stays.
func beside(singles, crowds []*finding) []*finding {
	for _, c := range crowds {
		i := slices.IndexFunc(singles, func(f *finding) bool { return f.who == c.who })
		switch {
		case i < 0:
			singles = append(singles, c)
		case singles[i].weight < c.weight:
			c.explains = append(c.explains, singles[i].explains...)
			singles[i] = c
		}
	}
	return singles
}

// names lists a few names.
func names(list []string) string {
	if len(list) > 3 {
		list = append(slices.Clone(list[:3]), "others")
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
