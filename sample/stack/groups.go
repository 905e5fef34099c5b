package stack

import (
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Groups of a tick, in their order.
const (
	imageGroup = iota
	frameGroup
	stackGroup
	numGroups
)

// Domains of their instances; metric.OfStacks knows them, too.
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
	LabelID    = "id"
	LabelBase  = "base"
	LabelCache = "cache"
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

// String is "" for a stack that has been walked to its end.
func (e End) String() string {
	switch e {
	case Truncated:
		return "truncated"
	case Broken:
		return "broken"
	}
	return ""
}

// Groups are what ticks of stacks are made of on p.
func Groups(p catalog.Platform) [numGroups]*metric.Group {
	return [numGroups]*metric.Group{
		imageGroup: catalog.Group(p, "stack images", ImageSamples),
		frameGroup: catalog.Group(p, "stack frames", FrameSamples),
		stackGroup: catalog.Group(p, "stacks", Samples, RunningNow),
	}
}
