package chunk

import "errors"

// In chunks of version 1, the roster says in which blocks each instance was: the runs of blocks, in
// the order of the instances.

var errRoster = errors.New("the roster contradicts itself")

type rosterModel struct {
	begin number // first block, minus that of the instance before
	more  prob
	toEnd [2]prob // the run goes on to the last block
	size  number
	gap   number
	ended uint32
}

func (m *rosterModel) init() {
	m.begin.init()
	m.size.init()
	m.gap.init()
	m.more = probInit
	fill(m.toEnd[:])
	m.ended = 1
}

// decodeRoster returns the runs of n instances and their lifetimes, which may
// be limit in all.
func decodeRoster(in []byte, n, blocks int, limit uint64) (runs [][]Run, lives []uint32, err error) {
	runs = make([][]Run, n)
	lives = make([]uint32, n)
	var d decoder
	d.begin(in)
	var m rosterModel
	m.init()
	total := uint64(0)
	arena := make([]Run, 0, n)
	prev := int64(0)
	for i := range n {
		start := prev + d.number(&m.begin)
		prev = start
		from := len(arena)
		for {
			if start < 0 || start >= int64(blocks) {
				return nil, nil, errRoster
			}
			end := int64(blocks)
			m.ended = d.bit(&m.toEnd[m.ended], fastLimit)
			if m.ended == 0 {
				end = start + 1 + d.number(&m.size)
				if end <= start || end >= int64(blocks) {
					return nil, nil, errRoster
				}
			}
			arena = append(arena, Run{uint32(start), uint32(end)})
			total += uint64(end - start)
			lives[i] += uint32(end - start)
			if total > limit || len(arena) > maxRuns {
				return nil, nil, errRoster
			}
			if d.short() {
				return nil, nil, errShort
			}
			if m.ended != 0 || d.bit(&m.more, fastLimit) == 0 {
				break
			}
			gap := d.number(&m.gap)
			if gap < 0 || gap > int64(blocks) {
				return nil, nil, errRoster
			}
			start = end + 1 + gap
		}
		runs[i] = arena[from:len(arena):len(arena)]
	}
	return runs, lives, nil
}
