package why

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

const (
	// nearlyFull is the share from which on a volume is in trouble, full the one from which on it
	// is too late.
	nearlyFull, full = 0.93, 0.985
	// soon is how soon a volume must fill up for that to matter.
	soon = 6 * time.Hour
	// urgent is how soon it must be full for action to be needed at once.
	urgent = 15 * time.Minute
)

// volumes finds volumes that were full, or filled up so quickly that they would soon be.
func (q *question) volumes() ([]*finding, error) {
	var out []*finding
	for _, name := range []string{"volume", "volume.files"} {
		for _, c := range q.field.of[name] {
			if f := q.volume(c, name == "volume.files"); f != nil {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func (q *question) volume(c *course, files bool) *finding {
	f := q.field
	lo, hi := f.slots(q.w)
	// The value at the window's beginning was read before it.
	for lo > 0 && c.x[min(lo, f.n-1)] != c.x[min(lo, f.n-1)] {
		lo--
	}
	first, last := -1, -1
	for k := lo; k < hi; k++ {
		if c.x[k] != c.x[k] {
			continue
		}
		if first < 0 {
			first = k
		}
		last = k
	}
	if first < 0 {
		return nil
	}
	// The rise begins at the lowest value and ends at the highest one after it.
	low, begin, high, end := q.rise(c, first, last)
	was, grown := low, high-low
	out := &finding{kind: "volume", who: c.name, topic: "volume", cause: true, since: f.begin(begin), until: f.begin(end + 1), explains: []string{"disk"},
		more: append([]string{"values", "filesys.full", "-i", c.name}, span(q.w.From, q.w.To)...)}
	out.sources = q.sourcesOfSignal(c.signal, c.name, c.key)
	title := "volume " + c.name
	if files {
		title += ", in numbers of files (inodes),"
		out.more[1] = "filesys.freefiles"
	}
	pace := 0.0
	if long := float64(out.until-out.since) / 1e9; long > 0 {
		pace = grown / long
	}
	switch {
	case high >= full && grown >= 0.01:
		at := end
		for k := begin; k <= end; k++ {
			if c.x[k] >= full {
				at = k
				break
			}
		}
		out.weight = 0.88
		out.text = fmt.Sprintf("%s filled up: %s at %s, %s at %s", title, human.Percent(was), q.show(out.since), human.Percent(high), q.show(f.begin(at)))
		if !files {
			out.text += q.fillers(out.since, f.begin(end+1))
		}
		out.until = f.begin(last + 1)
	case high >= full && q.writable(c.key):
		out.weight, out.since, out.until = 0.8, f.begin(first), f.begin(last+1)
		out.text = fmt.Sprintf("%s was full: %s", title, human.Percent(high))
		if before := q.calmly(c); !(before < c.x[first]-moved) {
			out.weight = fullBefore
			if before >= c.x[first]-moved {
				out.text += ", as before"
			}
		}
	case grown >= 0.02 && pace > 0:
		left := time.Duration((1 - high) / pace * 1e9)
		over := end < last-3*c.gap // It had stopped rising.
		if left > soon && high < nearlyFull || over && high < 0.8 && grown < 0.15 {
			return nil
		}
		out.weight = grade(0.3, 0.3*min(max((high-0.4)/0.5, 0), 1), 0.2*min(grown/0.4, 1), 0.15*min(float64(urgent)/float64(max(left, time.Second)), 1))
		out.text = fmt.Sprintf("%s filled up: %s at %s, %s at %s; at that pace full in %s, at %s", title, human.Percent(was), q.show(out.since),
			human.Percent(high), q.show(out.until), human.Duration(left), q.show(out.until+int64(left)))
		if left > time.Hour { // It may do so all the time.
			out.weight *= novel(q.paceBefore(c, begin), pace)
		}
		if !files { // Which process makes how many files is not recorded.
			out.text += q.fillers(out.since, out.until)
		}
	case high >= nearlyFull && (grown >= 0.003 || q.calmly(c) < c.x[first]-moved):
		out.weight = 0.3
		out.text = fmt.Sprintf("%s was %s full", title, human.Percent(high))
	default:
		return nil
	}
	return out
}

// paceBefore returns how much fuller a volume became each second before a slot; 0 where that is
// not known.
func (q *question) paceBefore(c *course, begin int) float64 {
	first := -1
	last := -1
	for k := 0; k <= begin && k < len(c.x); k++ {
		if c.x[k] == c.x[k] {
			if first < 0 {
				first = k
			}
			last = k
		}
	}
	if last <= first {
		return 0
	}
	return max(c.x[last]-c.x[first], 0) / (float64(int64(last-first)*q.field.width) / 1e9)
}

// rise returns the greatest rise of a course between two slots.
func (q *question) rise(c *course, first, last int) (low float64, begin int, high float64, end int) {
	best := math.Inf(-1)
	at := first
	for k := first; k <= last; k++ {
		x := c.x[k]
		if x != x {
			continue
		}
		if x <= c.x[at] {
			at = k // Of equal values the last: there it begins.
		}
		if d := x - c.x[at]; d > best || d == best && x > high {
			best, low, begin, high, end = d, c.x[at], at, x, k
		}
	}
	for k := begin; k < end; k++ { // It begins where it was last hardly fuller than at first.
		if c.x[k] <= low+(high-low)/20 {
			begin = k
		}
	}
	return low, begin, high, end
}

// fullBefore is the weight of a volume that was full before the window: the processes that need
// room fail only now.
const fullBefore = 0.4

// writable reports whether a volume may be written to: an image of a disc is always full.
func (q *question) writable(key string) bool {
	for _, name := range []string{"filesys.readonly", "filesys.type"} {
		sel := query.Window{Hosts: q.w.Hosts, From: q.from, To: q.w.To}.Selection(name)
		sel.Keys, sel.Prior = []string{key}, true
		for run := range q.a.Select(sel) {
			v := run.At(len(run.Wall) - 1)
			if name == "filesys.readonly" && v.Number() == 1 || slices.Contains(images, v.String()) {
				return false
			}
		}
	}
	return true
}

// images are types of volumes that are never written to.
var images = []string{"squashfs", "iso9660", "erofs", "cramfs", "udf", "cd9660"}

// moved is by how much a volume's share must differ from the calm stretch's: a volume that is
// always full is no news.
const moved = 0.02

// calmly returns how full a volume was in the calm stretch; NaN if that is not known.
func (q *question) calmly(c *course) float64 {
	if q.calm.To == 0 {
		return math.NaN()
	}
	cl, ch := q.field.slots(q.calm)
	return mean(c.x[cl:ch])
}

// fillers names the processes that wrote most meanwhile.
func (q *question) fillers(since, until int64) string {
	w := query.Window{Hosts: q.w.Hosts, From: since - leastStep, To: until + leastStep}
	lists, err := query.TopNames(q.a, w, 2, query.ByWrite)
	if err != nil {
		return ""
	}
	var words []string
	for _, c := range lists[0].Consumers {
		if x := c.Gains[query.WrittenBytes]; x > 0.2*lists[0].Total && x > 1<<20 {
			words = append(words, fmt.Sprintf("%s%s (%s)", c.Name, q.whose(c.Name).Beside(c.Name), human.Bytes(x)))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "; most was written by " + strings.Join(words, " and ")
}
