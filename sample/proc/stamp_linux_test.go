package proc

import (
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// The time that listing the processes took does not count as time of the processes: the
// stamp of the rows is when the first row was read.
func TestRowsAreStampedBehindTheListing(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "p", start: 1})
	r := openReader(t, Options{Root: f.root}, everything)
	var asked []metric.Stamp
	c := &sample.Context{Emit: func(metric.Event) {}, Now: func() metric.Stamp {
		n := int64(len(asked)+1) * 40e6
		asked = append(asked, metric.Stamp{Wall: 1_700_000_000e9 + n, Awake: 100e9 + n, Cont: 100e9 + n})
		return asked[len(asked)-1]
	}}
	frames := []*sample.Frame{r.frames["proc"], r.frames["procs"]}
	if err := r.sources[0].Read(c, frames); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if at := f.Block().At; at != asked[1] || len(f.Block().Rows) == 0 {
			t.Errorf("%d rows of %v, and the listing was there at %v", len(f.Block().Rows), at, asked[1])
		}
	}
}
