package why

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// A way is one of the two in which bytes cross the network.
type way struct {
	did, across    string
	signal, sum    string   // the signals of the bytes of an interface, and of all connections
	total, nobodys string   // metrics of all connections, and of those that nobody can be named for
	metrics        []string // what a process transferred, and of it, with this machine itself
}

var ways = []way{
	{"received", "came in", "net.in.bytes", "traffic.in", "network.traffic.in_bytes", "network.traffic.unattributed.in_bytes", []string{"proc.net.in_bytes", "proc.net.loopback.in_bytes"}},
	{"sent", "went out", "net.out.bytes", "traffic.out", "network.traffic.out_bytes", "network.traffic.unattributed.out_bytes", []string{"proc.net.out_bytes", "proc.net.loopback.out_bytes"}},
}

// share says how much a program transferred, of what processes did, and of how much it is not known
// whose it is.
func (w way) share(own, all, nobodys float64) string {
	text := fmt.Sprintf("%s %s/s, %s of what processes %s", w.did, human.Bytes(own), human.Percent(own/(all+nobodys)), w.did)
	if part := nobodys / (all + nobodys); part >= 0.05 {
		text += fmt.Sprintf(" (of %s it is not known whose they are)", human.Percent(part))
	}
	return text
}

// trafficRecorded reports whether the archive says who transferred what.
func (q *question) trafficRecorded() bool { return q.a.Lookup(ways[0].total) != nil }

// bearer returns the program that transferred most over the network in a time, how many bytes a
// second, and how many all programs did.
func (q *question) bearer(w way, since, until int64) (name string, own, all float64) {
	sel := query.Window{Hosts: q.w.Hosts, From: since, To: until}.Selection(w.metrics...)
	sel.Prior = true
	by := make(map[string]float64)
	for _, r := range q.ranges(sel) {
		if r.instance == nil {
			continue
		}
		gain := r.last - r.first
		if r.instance.Began() >= since {
			gain = r.last
		}
		if r.desc.Name != w.metrics[0] {
			gain = -gain // It stayed within the machine.
		}
		by[query.ProcessName(r.instance)] += gain / (float64(until-since) / 1e9)
	}
	for _, other := range slices.Sorted(maps.Keys(by)) {
		x := math.Max(by[other], 0)
		if all += x; x > own {
			name, own = other, x
		}
	}
	return name, own, all
}

// borne says in a finding about an interface who transferred most of what it carried: the program,
// or that it is not known.
func (q *question) borne(f *finding, key string) {
	if !q.trafficRecorded() {
		return
	}
	best, most := -1, 0.0
	for i, w := range ways {
		if c := q.field.one(w.signal, key); c != nil {
			lo, hi := q.field.slots(query.Window{From: f.since, To: f.until})
			if x := orZero(mean(c.x[lo:max(hi, lo)])); x > most {
				best, most = i, x
			}
		}
	}
	if best < 0 {
		return
	}
	w := ways[best]
	name, own, all := q.bearer(w, f.since, f.until)
	nobodys := q.gained(w.nobodys, f.since, f.until)
	switch {
	case own >= bears*most && own >= all/2:
		f.title, _ = q.title(name, f.since+(f.until-f.since)/2)
		f.culprit = name
		f.text = f.title + " " + w.share(own, all, nobodys) + "; " + f.text
		f.sources = append(sourcesOf(name, "", w.metrics...), f.sources...)
		f.weight = min(f.weight+0.02, 1)
	case nobodys >= bears*most:
		f.text += fmt.Sprintf("; %s/s of it over connections of which it is not known whose they are", human.Bytes(nobodys))
		f.sources = append(f.sources, source{metric: w.nobodys})
	case all+nobodys < bears*most:
		f.text += fmt.Sprintf("; only %s/s of it %s over connections of processes", human.Bytes(all+nobodys), w.across)
		f.sources = append(f.sources, source{metric: w.total})
	}
}

// unshown finds that connections carried far more than usual while no interface shows it, as when
// the system's counters stand still; list are the findings about interfaces.
func (q *question) unshown(list []*finding) (out []*finding) {
	bad := func(x float64) float64 { return logShare(x, trafficLeast, trafficSevere) }
	for _, w := range ways {
		for _, c := range q.field.of[w.sum] {
			e := q.find(c, trafficLeast, bad)
			if e == nil || e.calm > e.level/3 {
				continue
			}
			since, until := q.field.times(e)
			if slices.ContainsFunc(list, func(f *finding) bool { return f.cause && f.since <= until && since <= f.until }) {
				continue
			}
			name, own, all := q.bearer(w, since, until)
			nobodys := q.gained(w.nobodys, since, until)
			if all += nobodys; all < trafficLeast { // The rest stayed within the machine.
				continue
			}
			f := &finding{kind: "network", who: w.sum, topic: "network", cause: true, since: since, until: until, explains: []string{"network", "tcp", "udp", "peer"},
				weight: q.field.worth(e, trafficWeight, bad(all)), more: append([]string{"rates", w.total}, span(q.w.From, q.w.To)...)}
			f.sources = []source{{metric: w.total}}
			f.text = fmt.Sprintf("%s/s %s over connections of processes%s%s", human.Bytes(all), w.across, q.when(since, until), q.against(human.Bytes(orZero(e.calm))+"/s"))
			switch {
			case own >= all/2:
				f.title, _ = q.title(name, since+(until-since)/2)
				f.culprit = name
				f.text = f.title + " " + w.share(own, all-nobodys, nobodys) + q.when(since, until) + q.against(human.Bytes(orZero(e.calm))+"/s")
				f.sources = append(sourcesOf(name, "", w.metrics...), f.sources...)
			case nobodys >= all/2:
				f.text += fmt.Sprintf("; it is not known whose %s of them are", human.Percent(nobodys/all))
				f.sources = append(f.sources, source{metric: w.nobodys})
			}
			out = append(out, f)
		}
	}
	return out
}

// daily returns what part of its weight a finding about an interface keeps: less if the interface
// carried as much at the same hour of other days. Archives that do not say who used the network
// are judged as ever.
func (q *question) daily(c *course, since, until int64, level float64) float64 {
	if !q.trafficRecorded() {
		return 1
	}
	var list []float64
	const day = int64(24 * 3600e9)
	for n := int64(1); n <= mostDays && since-n*day >= q.from; n++ {
		sum := 0.0
		for _, s := range q.sourcesOfSignal(c.signal, c.name, c.key) {
			sel := query.Window{Hosts: q.w.Hosts, From: since - n*day, To: until - n*day}.Selection(s.metric)
			sel.Keys = []string{c.key}
			for _, r := range q.ranges(sel) {
				sum += math.Max(r.last-r.first, 0)
			}
		}
		list = append(list, sum/(float64(until-since)/1e9))
	}
	if len(list) == 0 {
		return 1
	}
	slices.Sort(list)
	return novel(list[max(len(list)-2, 0)], level) // What happened once before is not yet usual.
}

// mostDays is how many days before are looked at.
const mostDays = 7

// strangers says of how many of the connections that closed in a time it is not known whose they
// were; nothing if that is not most of them.
func (q *question) strangers(since, until int64) string {
	closed := q.gained("network.traffic.closed", since, until)
	part := q.gained("network.traffic.unattributed.closed", since, until) / closed
	if !(part >= bears) {
		return ""
	}
	return "; of " + human.Percent(part) + " of those that closed it is not known whose they were"
}

// gained returns how fast a counter of the machine grew in a time; 0 if it was not recorded.
func (q *question) gained(name string, since, until int64) float64 {
	if q.a.Lookup(name) == nil || until <= since {
		return 0
	}
	sel := query.Window{Hosts: q.w.Hosts, From: since, To: until}.Selection(name)
	sel.Prior = true
	sum := 0.0
	for _, r := range q.ranges(sel) {
		sum += math.Max(r.last-r.first, 0)
	}
	return sum / (float64(until-since) / 1e9)
}
