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
	Waited       = "stack.waited"
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
	LabelStart  = "start"
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
	// Of the thread that a stack's thread waited for: the name of its process (Interrupt if an
	// interrupt ended the wait), and the key of its own innermost frame.
	LabelWaker        = "waker"
	LabelWakerProcess = "waker_process"
	LabelWakerPID     = "waker_pid"
	LabelWakerTID     = "waker_tid"
	LabelWakerThread  = "waker_thread"
	LabelWakerFrame   = "waker_frame"
)

// Interrupt is the name of a waker that is no thread.
const Interrupt = "interrupt"

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
			d.Sem, d.Indom, d.Class = metric.Instant, indom, metric.Thread
			if d.Units == (metric.Units{}) {
				d.Type, d.Units = metric.U32, metric.Counts
			}
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
			metric.Desc{Name: RunningNow, PMID: 2, Help: "How often a thread that had or wanted a processor was seen with this stack in the last second"},
			metric.Desc{Name: Waited, PMID: 5, Type: metric.U64, Units: metric.Nanoseconds,
				Help: "How long a thread's waits with this stack lasted that ended in the last second",
				LongHelp: "Only where the kernel reported when the waits began and ended; also those that lasted until the sampling ended. " +
					"On Linux that is the time until the thread had a processor again, on macOS how long a waiting thread has run on no processor since the last look at it."}),
	}
}
