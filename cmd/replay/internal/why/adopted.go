package why

import (
	"strconv"

	"tachograph/sample/metric"
	"tachograph/store"
)

// largeChild is the part of what a process read or wrote that a child must have done for it to be
// looked at more closely.
const largeChild = 0.05

// adopted returns how much of what a process seems to have read or written from one instant to
// another its children did. When a process waits for a child that has ended, Linux adds all that
// the child ever read and wrote to the numbers of the parent.
func (q *question) adopted(s *suspect, counter string, seeming float64, since, until int64) (sum float64) {
	looked := 0
	for e := range q.a.Events(since-leastStep, until+leastStep, metric.EventProcessExit) {
		if looked++; looked > mostExits {
			break
		}
		did, err := strconv.ParseFloat(e.Label(counter), 64)
		if err != nil || did < largeChild*seeming || e.Archive.Host.ID != q.r.Host {
			continue
		}
		if q.parentOf(e) == s.Instance.Key {
			sum += did
		}
	}
	return sum
}

// parentOf returns the key of the parent of a process that ended.
func (q *question) parentOf(e *store.Event) string {
	if parent := e.Label("parent"); parent != "" {
		return parent
	}
	for life := range q.a.Lives("process", e.At.Wall-2*leastStep, e.At.Wall, e.Key) {
		if life.Archive.Host.ID == q.r.Host {
			return life.Instance.Label("parent")
		}
	}
	return ""
}
