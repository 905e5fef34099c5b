package why

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// field is what the signals did in and around the window, in equal slots: the same slots serve to
// judge the window and to find what is usual.
type field struct {
	from, to, width int64
	n               int
	of              map[string][]*course // by the signal's name
}

// course is one signal, for one instance where there are several.
type course struct {
	signal *signal
	name   string    // name of the instance; "" where there is none
	key    string    // key of the instance
	x      []float64 // mean of each slot; NaN where nothing was read
	gap    int       // slots from one reading to the next, at least 1
}

const (
	// mostSlots bounds how finely a field is cut.
	mostSlots = 1600
	// A field reaches asideTimes the window's length before and after the window, but at least
	// asideLeast and at most asideMost.
	asideLeast, asideMost, asideTimes = int64(time.Hour), int64(12 * time.Hour), 4
)

// around reads the field of the window.
func (q *question) around() error {
	aside := min(max(asideTimes*(q.w.To-q.w.From), asideLeast), asideMost)
	from, to := max(q.w.From-aside, q.from), min(q.w.To+aside, q.to)
	read := q.field == nil || q.field.from != from || q.field.to != to // Else worst has read it.
	if read {
		q.field = newField(from, to)
	}
	if q.ledger = q.newLedger(q.field); read {
		if err := query.Beside(q.a, q.reader(q.field, everything), q.ledger.begin); err != nil {
			return err
		}
	} else if err := q.read(q.field, everything); err != nil {
		return err
	}
	q.findCalm()
	return nil
}

// newField returns a field without values.
func newField(from, to int64) *field {
	f := &field{from: from, to: to, width: int64(time.Second), of: make(map[string][]*course)}
	if to <= from {
		return f
	}
	for (to-from)/f.width > mostSlots {
		f.width += int64(time.Second)
	}
	f.n = int((to-from)/f.width) + 1
	return f
}

// everything wants all signals.
func everything(*signal) bool { return true }

// read reads the signals of a field that are wanted and not yet there, with two workers.
func (q *question) read(f *field, wanted func(*signal) bool) error {
	read := q.reader(f, wanted)
	return query.Beside(q.a, read, read)
}

// reader returns a function that reads the signals of a field that are wanted and not yet there.
// Called from several goroutines, each with an archive of its own, it shares them out.
func (q *question) reader(f *field, wanted func(*signal) bool) func(query.Archive) error {
	var list []*signal
	for i := range signals {
		if _, there := f.of[signals[i].name]; f.n > 0 && !there && wanted(&signals[i]) {
			list = append(list, &signals[i])
		}
	}
	var next atomic.Int32
	var mu sync.Mutex // guards f.of
	return func(a query.Archive) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(list) {
				return nil
			}
			if err := q.ctx.Err(); err != nil {
				return err
			}
			courses := q.courses(a, list[i], f)
			mu.Lock()
			f.of[list[i].name] = courses
			mu.Unlock()
		}
	}
}

// courses reads one signal; it returns nothing where the archive does not have it.
func (q *question) courses(a query.Archive, s *signal, f *field) []*course {
	var list []*course
	for _, text := range s.exprs {
		if !recorded(a, text) {
			continue // Most archives lack some.
		}
		targets, err := query.Targets(a, q.r.Defs, []string{text})
		if err != nil || len(targets) != 1 {
			continue
		}
		by := make(map[string]*course)
		r := query.Request{Window: query.Window{Hosts: []string{q.r.Host}, From: f.from, To: f.to}, Mode: query.Shown, Step: f.width, Origin: f.from}
		for one, err := range query.ReadTarget(a, targets[0], r) {
			if err != nil {
				break
			}
			key, name := "", ""
			if one.Instance != nil {
				key, name = one.Instance.Key, one.Instance.Name
			}
			c := by[key]
			if c == nil {
				c = &course{signal: s, name: name, key: key, x: slices.Repeat([]float64{math.NaN()}, f.n)}
				by[key] = c
				list = append(list, c)
			}
			scale := s.scale(one.Units)
			if s.name == "volume" && targets[0].Metric != nil && one.Units == metric.NoUnits {
				scale = 0.01 // Old archives do not say that it is in percent.
			}
			for i, wall := range one.Wall {
				if v := one.Value(i); v.Miss == metric.Present {
					if k := f.slot(wall); k >= 0 && k < f.n {
						c.x[k] = v.Number() * scale
					}
				}
			}
		}
		if len(list) > 0 {
			break
		}
	}
	for _, c := range list {
		read := len(known(c.x))
		c.gap = max((f.n+read/2)/max(read, 1), 1)
	}
	return list
}

// slot returns the slot that ends at an instant or contains it.
func (f *field) slot(wall int64) int { return int((wall - f.from - 1) / f.width) }

// begin returns where a slot begins.
func (f *field) begin(k int) int64 { return f.from + int64(k)*f.width }

// slots returns the first slot of a stretch and the one after its last.
func (f *field) slots(w query.Window) (int, int) {
	lo := int((w.From - f.from) / f.width)
	hi := int((w.To-f.from+f.width-1)/f.width) + 0
	return max(min(lo, f.n), 0), max(min(hi, f.n), 0)
}

// known returns the values of a course that are not NaN.
func known(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), math.IsNaN)
}

// mean returns the mean of the known values; NaN if there are none.
func mean(x []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range x {
		if v == v {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// quantile returns the value below which that part of the values lies; NaN if there are none.
func quantile(x []float64, part float64) float64 {
	list := known(x)
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return list[min(int(part*float64(len(list))), len(list)-1)]
}
