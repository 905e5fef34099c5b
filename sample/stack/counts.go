package stack

import (
	"sync"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// Counts is a source of the totals of all sampling since the recorder started. It counts task
// ports because macOS logs each one that it refuses.
type Counts struct {
	group *metric.Group
	mu    sync.Mutex
	total [numCounts]uint64
}

const (
	countSessions = iota
	countSamples
	countMissed
	countSuspensions
	countTasks
	countHung
	numCounts
)

// NewCounts makes Counts that are all zero.
func NewCounts() *Counts {
	c := &Counts{group: &metric.Group{Name: "recorder.stacks"}}
	for i, row := range [numCounts]struct{ name, help string }{
		countSessions:    {"sessions", "times that stacks were sampled for a while"},
		countSamples:     {"samples", "stacks that were sampled"},
		countMissed:      {"missed", "times at which stacks were due and not looked at, because the machine or the recorder was too slow"},
		countSuspensions: {"suspensions", "times that something was suspended for its stack to be read"},
		countTasks:       {"task_ports", "task ports that were asked for, to read stacks by; macOS logs each that it refuses"},
		countHung:        {"hung", "calls of the kernel's that did not return; what they are for is given up until the machine is restarted"},
	} {
		c.group.Metrics = append(c.group.Metrics, &metric.Desc{
			Name: "recorder.stacks." + row.name, PMID: metric.NewPMID(metric.OwnDomain, 4003, uint32(i+1)), Type: metric.U64, Sem: metric.Counter,
			Units: metric.Counts, Class: metric.Polled, Source: "the recorder itself", Help: row.help,
		})
	}
	return c
}

// Add counts a session.
func (c *Counts) Add(s *Statistics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range [numCounts]int{
		countSessions: 1, countSamples: s.Samples, countMissed: s.Missed, countSuspensions: s.Suspensions, countTasks: s.Tasks,
		countHung: len(s.Hung),
	} {
		c.total[i] += uint64(max(0, n))
	}
}

// Name, Groups, Read, Refresh and Close implement sample.Source.
func (c *Counts) Name() string            { return "stacks" }
func (c *Counts) Groups() []*metric.Group { return []*metric.Group{c.group} }
func (c *Counts) Refresh() error          { return nil }
func (c *Counts) Close() error            { return nil }

// Read fills the frames with the totals.
func (c *Counts) Read(ctx *sample.Context, frames []*sample.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range frames {
		f.Reset(ctx.Now())
		row := f.Row(nil)
		for i, n := range c.total {
			f.SetUint(row, i, n)
		}
	}
	return nil
}
