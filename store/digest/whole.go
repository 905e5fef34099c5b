package digest

import (
	"tachograph/sample/metric"
)

// A Whole sums up each series of the system over all chunks of an archive, so that a question
// about a month need not open the chunks of its days. It leaves out metrics whose values must be
// judged one by one: counters that fell, values that were missing, instances that were renamed.
type Whole struct {
	// Sums are the checksums of all chunks of the archive, by class and number.
	Sums   []uint32
	Groups []WholeGroup
}

// A WholeGroup has the series of one instance domain.
type WholeGroup struct {
	Indom     string
	Instances []metric.Instance // one without a key if there is no domain
	Metrics   []WholeMetric
}

// A WholeMetric has the series of one metric.
type WholeMetric struct {
	Number uint32 // in the archive's catalogue
	Class  metric.Class
	Series []WholeSeries
}

// A WholeSeries is what one series did. The values are those of a chunk.Summary.
type WholeSeries struct {
	Instance            int // its place in the group
	Count               uint64
	First, Last         metric.Stamp // Awake is not set
	FirstBits, LastBits uint64
	Min, Max            uint64
	Sum, Weighted       float64
	Increase, Steepest  float64
	// Longest is the longest time between two values, or a little more.
	Longest int64
}
