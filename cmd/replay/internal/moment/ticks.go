package moment

import (
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// ticks are the instants at which samples were taken, in the blocks of wall clock time that were
// read so far.
type ticks struct {
	blocks map[int64][]int64
	kept   int
}

const (
	// block is how much time is read at once.
	block = int64(time.Hour)
	// mostTicks bounds how many instants are kept.
	mostTicks = 1 << 20
)

func newTicks() ticks { return ticks{blocks: make(map[int64][]int64)} }

// samples returns the instants of one block, in order.
func (r *Recording) samples(n int64) []int64 {
	list, known := r.ticks.blocks[n]
	if known {
		return list
	}
	if r.clock != "" {
		for run := range r.a.Select(r.window(n*block, (n+1)*block-1).Selection(r.clock)) {
			list = append(list, run.Wall...)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if r.given() != nil {
		return list // Some may be missing.
	}
	if r.ticks.kept += len(list); r.ticks.kept > mostTicks {
		r.ticks = newTicks()
		r.ticks.kept = len(list)
	}
	r.ticks.blocks[n] = list
	return list
}

func floorDiv(x, by int64) int64 {
	n := x / by
	if x%by < 0 {
		n--
	}
	return n
}

// Step returns the instant of the sample n samples after an instant, or before it where n is
// negative, across breaks; the last or the first one where there are not so many. With n = 0 it
// is the last sample not after the instant, or if there is none, the first sample.
func (r *Recording) Step(at int64, n int) int64 {
	if n > 0 {
		if next, ok := r.forward(at, n); ok {
			return next
		}
		return at
	}
	if prev, ok := r.back(at, n); ok {
		return prev
	}
	if next, ok := r.forward(at, 1); ok && n == 0 {
		return next
	}
	return at
}

// forward returns the n-th sample after an instant, or the last there is.
func (r *Recording) forward(at int64, n int) (found int64, ok bool) {
	first, last := floorDiv(max(at, r.from), block), floorDiv(r.to, block)
	for k := first; k <= last; k = r.nextBlock(k, last) {
		list := r.samples(k)
		i, exact := slices.BinarySearch(list, at)
		if exact {
			i++
		}
		if left := len(list) - i; left > 0 {
			if n <= left {
				return list[i+n-1], true
			}
			found, ok = list[len(list)-1], true
			n -= left
		}
	}
	return found, ok
}

// back returns the -n-th sample before an instant, or the first there is; with n = 0 the last
// that is not after it.
func (r *Recording) back(at int64, n int) (found int64, ok bool) {
	first, last := floorDiv(r.from, block), floorDiv(min(at, r.to), block)
	for k := last; k >= first; k = r.prevBlock(k, first) {
		list := r.samples(k)
		i, exact := slices.BinarySearch(list, at)
		if exact && n == 0 {
			return at, true
		}
		if i > 0 {
			want := max(-n, 1)
			if want <= i {
				return list[i-want], true
			}
			found, ok = list[0], true
			n = -(want - i)
		}
	}
	return found, ok
}

// nextBlock returns the block after k that has samples, or one beyond the last. An archive may be
// silent for days, and one of a stranger for centuries.
func (r *Recording) nextBlock(k, last int64) int64 {
	if k++; k > last || len(r.samples(k)) > 0 {
		return k
	}
	next := query.FirstAfter(r.a, r.host.ID, (k+1)*block-1)
	if next == 0 {
		return last + 1
	}
	return max(floorDiv(next, block), k+1)
}

// prevBlock returns the block before k that has samples, or one before the first.
func (r *Recording) prevBlock(k, first int64) int64 {
	if k--; k < first || len(r.samples(k)) > 0 {
		return k
	}
	prev := query.LastBefore(r.a, r.host.ID, k*block-1)
	if prev == 0 {
		return first - 1
	}
	return min(floorDiv(prev, block), k-1)
}

// grown forgets the samples of the blocks that may have more now.
func (t *ticks) grown(since int64) {
	for k, list := range t.blocks {
		if (k+1)*block > since {
			t.kept -= len(list)
			delete(t.blocks, k)
		}
	}
}

// every returns how far apart samples of a class are about an instant, as its archive says.
func (r *Recording) every(c metric.Class, at int64) int64 {
	list := make([]*store.ArchiveInfo, len(r.archives))
	for i, s := range r.archives {
		list[i] = s.info
	}
	return every(list, c, at)
}

func every(list []*store.ArchiveInfo, c metric.Class, at int64) int64 {
	every := int64(c.Interval())
	for _, info := range list {
		if info.From <= at {
			if iv := int64(info.Intervals[c]); iv > 0 && time.Duration(iv) < 365*24*time.Hour {
				every = iv
			}
		}
	}
	return min(every, block)
}
