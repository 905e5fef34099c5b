package why

import (
	"math"

	"tachograph/store/query"
)

const (
	// leastFlow is how many bytes a second are examined. muchFlow bytes a second, and leastTotal
	// bytes in all, are worth a line however busy they keep the disk.
	leastFlow, muchFlow, leastTotal = 128 << 10, 2 << 20, 32 << 20
	// leastBusy is how busy a process must keep a disk for less than that to be worth a line.
	leastBusy = 0.06
)

// flow returns the weight of a name's reading or writing: by the number of bytes, on a
// logarithmic scale, or by how busy that kept a disk; 0 if it was little.
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

// busier returns how much busier than usual the busiest disk was in a time.
func (q *question) busier(since, until int64) (most float64) {
	lo, hi := q.field.slots(query.Window{From: since, To: until})
	for _, c := range q.field.of["disk.busy"] {
		if x := mean(c.x[lo:max(hi, lo)]) - quantile(c.x, 0.5); x > most {
			most = x
		}
	}
	return most
}
