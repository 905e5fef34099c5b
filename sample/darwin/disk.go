package darwin

import (
	"slices"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// blockSizeWord is the rows' word for the size of a disk's own blocks.
const blockSizeWord = "IOMedia/Preferred Block Size"

// diskTables are the tables of each disk, of all together, and of the parts that the latter add
// up.
type diskTables struct {
	each, all, parts *rows.Table
	// leaves are the values to read from a driver, each once; ofEach and ofParts map the tables'
	// leaves to them.
	leaves          []rows.Leaf
	ofEach, ofParts []int
}

func diskRows() (d diskTables) {
	const prefix = "IOKit IOBlockStorageDriver"
	d.each = rows.New("disk", rows.Select("disk", prefix), 0, nil)
	d.all = rows.New("disks", rows.Select(metric.NoIndom, prefix), 0, nil)
	d.parts = d.all.Totals()
	d.ofEach, d.ofParts = d.number(d.each), d.number(d.parts)
	return d
}

func (d *diskTables) number(t *rows.Table) (of []int) {
	for _, l := range t.Leaves {
		i := slices.IndexFunc(d.leaves, func(x rows.Leaf) bool { return x.Word == l.Word && x.Question == l.Question })
		if i < 0 {
			i = len(d.leaves)
			d.leaves = append(d.leaves, l)
		}
		of = append(of, i)
	}
	return of
}

// diskReading presents a driver's values as the leaves of one of the tables.
type diskReading struct {
	values []rows.Value
	of     []int
}

func (r *diskReading) Leaf(i int) rows.Value { return r.values[r.of[i]] }

// diskTotal is a sum over all disks, as far as their drivers report it.
type diskTotal struct {
	runningTotal
	told bool // some disk has reported it
	now  bool // some disk reported it this round
}
