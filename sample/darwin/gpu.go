package darwin

import (
	"strings"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// gpuRows returns the table of graphics processors.
func gpuRows() *rows.Table {
	return rows.New("gpu", rows.Select("gpu", "IOKit IOAccelerator"), 0, map[string]rows.Func{
		"left": func(all, used uint64) (uint64, bool) { return all - used, all >= used },
	})
}

// cardMemory is the beginning of the rows' words for properties of the card, which are not in
// the statistics of its graphics processor.
const cardMemory = "card("

func ofCard(l *rows.Leaf) bool { return strings.HasPrefix(l.Word, cardMemory) }

// sharedMemory is why a GPU has no free memory of its own.
const sharedMemory = "the GPU has no memory of its own: it shares the machine's"

var whySharedMemory = metric.ReasonFor(sharedMemory)
