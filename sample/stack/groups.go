package stack

import (
	"tachograph/sample/metric"
)

// Groups of a tick, in their order.
const (
	imageGroup = iota
	frameGroup
	stackGroup
	numGroups
)

// Domains of their instances; metric.OfStacks has them too.
const (
	DomainImage = "stack image"
	DomainFrame = "stack frame"
	DomainStack = "stack"
)

// Metrics of the groups.
const (
	ImageSamples = "stack.image.samples"
	FrameSamples = "stack.frame.samples"
	Samples      = "stack.samples"
	RunningNow   = "stack.running"
)

// Labels of instances. A label without a value is left out.
const (
	// Of images.
	LabelID         = "id"
	LabelBase       = "base"
	LabelCache      = "cache"
	LabelCacheID    = "cache_id"
	LabelCacheSlide = "cache_slide"
	// Of frames.
	LabelCaller = "caller"
	LabelImage  = "image"
	LabelOffset = "offset"
	LabelFile   = "file"
	LabelLine   = "line"
	LabelKernel = "kernel"
	// Of stacks.
	LabelProcess = "process"
	LabelPID     = "pid"
	LabelTID     = "tid"
	LabelThread  = "thread"
	LabelQueue   = "queue"
	LabelFrame   = "frame"
	LabelWait    = "wait"
	LabelEnd     = "end"
)

const yes = "yes"

// String returns "" for a stack that was walked to its end.
func (e End) String() string {
	switch e {
	case Truncated:
		return "truncated"
	case Broken:
		return "broken"
	}
	return ""
}

// Groups returns the groups of a tick of stacks. No source reads them: stacks are sampled when
// there is a reason.
func Groups() [numGroups]*metric.Group {
	group := func(name, indom string, rows ...metric.Desc) *metric.Group {
		g := &metric.Group{Name: name, Indom: indom}
		for _, d := range rows {
			d.PMID = metric.NewPMID(metric.OwnDomain, 15, uint32(d.PMID))
			d.Type, d.Sem, d.Units, d.Indom, d.Class = metric.U32, metric.Instant, metric.Counts, indom, metric.Thread
			d.Source = "stacks of threads, while they are sampled"
			g.Metrics = append(g.Metrics, &d)
		}
		return g
	}
	return [numGroups]*metric.Group{
		imageGroup: group("stack images", DomainImage,
			metric.Desc{Name: ImageSamples, PMID: 4, Help: "How often threads were seen with code of this file in their stacks in the last second"}),
		frameGroup: group("stack frames", DomainFrame,
			metric.Desc{Name: FrameSamples, PMID: 3, Help: "How often threads were seen in this call, or in what it called, in the last second"}),
		stackGroup: group("stacks", DomainStack,
			metric.Desc{Name: Samples, PMID: 1, Help: "How often a thread was seen with this stack in the last second"},
			metric.Desc{Name: RunningNow, PMID: 2, Help: "How often a thread that had or wanted a processor was seen with this stack in the last second"}),
	}
}
