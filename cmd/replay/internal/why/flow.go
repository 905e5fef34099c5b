package why

import (
	"math"

	"tachograph/store/query"
)

const (
	// leastFlow is how many bytes a second are looked at, muchFlow how many, and
	// leastTotal how many in all, are worth a word whatever the disk makes of them.
	leastFlow, muchFlow, leastTotal = 128 << 10, 2 << 20, 32 << 20
	// leastBusy is how busy somebody must keep a disk for less to be worth a word.
	leastBusy = 0.06
)

// flow is what weighs that a name read or wrote so much: how many bytes, each tenfold
// alike, or how busy that kept a disk; 0 if it was little.
func (q *question) flow(name string, rate, total float64, since, until int64) (weight float64) {
	if rate >= muchFlow && total >= leastTotal {
		weight = grade(0.2, 0.35*logShare(rate, 1<<20, 300<<20))
	}
	if !(rate >= leastFlow) {
		return weight
	}
	read, allRead := q.share(name, thingRead, since, until)
	written, allWritten := q.share(name, thingWritten, since, until)
	if busy := q.busier(since, until) * (read + written) / math.Max(allRead+allWritten, 1); busy >= leastBusy {
		weight = max(weight, grave(busy))
	}
	return weight
}

// busier is how much busier than mostly the busiest disk was in a time.
func (q *question) busier(since, until int64) (most float64) {
	lo, hi := q.field.slots(query.Window{From: since, To: until})
	for _, c := range q.field.of["disk.busy"] {
		if x := mean(c.x[lo:max(hi, lo)]) - quantile(c.x, 0.5); x > most {
			most = x
		}
	}
	return most
}
