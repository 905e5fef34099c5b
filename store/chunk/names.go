package chunk

import "errors"

// In chunks of version 1, names are the keys of the instances, and what they were called from which
// block on. They are coded in the order in which the instances appeared: their
// numbers then grow slowly. The frame of a text, though, is expected to be that
// of the instance before in the chunk's own order, which puts like and like
// together and hence needs no words for what is alike.

var errNames = errors.New("the names contradict themselves")

type nameModel struct {
	slots   [maxSlots]*slotModel
	counts  number // namings minus one
	blocks  number // block of a naming, minus the first of the instance
	labels  number // labels, minus those of the instance before in chunk order
	newest  int    // frames in use so far
	figures [maxFigures]figure
	keyed   []figure // the numbers of the present instance's key
}

func (m *nameModel) init() {
	m.counts.init()
	m.blocks.init()
	m.labels.init()
}

func (m *nameModel) slot(i int) *slotModel {
	i = min(i, maxSlots-1)
	if m.slots[i] == nil {
		m.slots[i] = newSlotModel()
	}
	return m.slots[i]
}

// appearance is the order of instances by first block; begin is 0 for those
// that were there from the start.
func appearance(insts []Instance, blocks int) []int32 {
	counts := make([]int32, blocks+1)
	for i := range insts {
		counts[insts[i].Runs[0].Start+1]++
	}
	for b := range blocks {
		counts[b+1] += counts[b]
	}
	order := make([]int32, len(insts))
	for i := range insts {
		b := insts[i].Runs[0].Start
		order[counts[b]] = int32(i)
		counts[b]++
	}
	return order
}
