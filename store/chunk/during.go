package chunk

import "slices"

// During returns the rows of the instances that were there in any of the blocks from first to
// last, in rising order, with their names read. Of thousands that come and go in an hour, few
// are there in any given minutes, and During leaves the others undecoded.
func (g *Group) During(first, last uint32) ([]int, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	if r, ok := h.(*register); ok && r.insts == nil {
		if err := r.open(); err != nil {
			return nil, err
		}
		if len(r.runs) > 0 {
			return r.during(first, last)
		}
	}
	insts, err := h.all()
	if err != nil {
		return nil, err
	}
	rows := []int{}
	for i := range insts {
		if there(insts[i].Runs, first, last) {
			rows = append(rows, i)
		}
	}
	return rows, nil
}

// there reports whether any run has one of the blocks from first to last.
func there(runs []Run, first, last uint32) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Start <= last && r.End > first })
}

func (r *register) during(first, last uint32) ([]int, error) {
	rows := []int{}
	for i := range r.segs {
		if r.segs[i].base > last {
			continue // base is where its first instance came
		}
		s, err := r.heads(i)
		if err != nil {
			return nil, err
		}
		n := len(rows)
		for k, row := range s.rows {
			yes, err := r.there(int(row), s.begins[k], first, last)
			if err != nil {
				return nil, err
			}
			if yes {
				rows = append(rows, int(row))
			}
		}
		if len(rows) > n {
			// Decode to its end: a partly decoded segment keeps its models in memory.
			if _, err := r.bodies(i, len(s.rows)-1); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// there reports whether the instance of a row, which came at block begin, was there in any of
// the blocks from first to last.
func (r *register) there(row int, begin, first, last uint32) (bool, error) {
	if begin > last {
		return false, nil
	}
	life, err := r.life.of(row, row+1)
	if err != nil {
		return false, r.g.wrong("lifetimes", err)
	}
	if r.life.absent[row] == nil {
		return uint64(begin)+uint64(life[0]) > uint64(first), nil
	}
	runs, err := r.life.runsOf(row, begin)
	if err != nil {
		return false, r.g.wrong("lifetimes", err)
	}
	return there(runs, first, last), nil
}
