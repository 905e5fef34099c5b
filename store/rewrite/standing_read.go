package rewrite

import (
	"errors"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
)

// stand yields, for each class that opt.Standing accepts, the last values before the window,
// once for each stretch of a boot: not if one of the boot's earlier files reaches the window or
// is continued by the last one.
func (opt *ReadOptions) stand(files []*archive.File, info *archive.Info, same *archive.Sameness, yield func(archive.Item) bool) bool {
	a := files[len(files)-1]
	from := max(opt.from(), a.Covered)
	if a.Info.To < from || a.Info.Begin() > opt.to() {
		return true
	}
	for _, f := range files[:len(files)-1] {
		if f.Info.To >= max(opt.from(), from-joins) {
			return true
		}
	}
	for c := range metric.NumClasses {
		if opt.Classes != nil && !slices.Contains(opt.Classes, c) || !opt.Standing(info, c) {
			continue
		}
		b := standing{opt: opt, info: info, same: same, class: c, from: from, found: make(map[string]bool)}
		for _, f := range slices.Backward(files) {
			b.file(f)
		}
		if len(b.blocks) == 0 {
			continue
		}
		slices.Reverse(b.blocks)
		t := &metric.Tick{Class: c, Blocks: b.blocks}
		for _, one := range b.blocks {
			if t.At.Cont <= one.At.Cont {
				t.At = one.At
			}
		}
		on := from - t.At.Wall
		t.At = metric.Stamp{Wall: from, Awake: t.At.Awake + on, Cont: t.At.Cont + on}
		if opt.Instance != nil {
			var f rowFilter
			t = f.filter(t, opt.Instance)
		}
		if len(t.Blocks) > 0 && !yield(archive.Item{Archive: info, Tick: t, Standing: true}) {
			return false
		}
	}
	return true
}

// joins is the longest time between two files of which the later continues the earlier.
const joins = int64(60e9)

// A standing looks for the last block of every metric of a class that was read before an instant,
// the latest first.
type standing struct {
	opt    *ReadOptions
	info   *archive.Info
	same   *archive.Sameness
	class  metric.Class
	from   int64
	found  map[string]bool // metrics
	blocks []*metric.Block
}

// file looks in one file. Most chunks have the same metrics, and are not opened.
func (b *standing) file(f *archive.File) {
	known := make(map[uint32]bool) // schemas whose metrics are all found
	for _, ref := range slices.Backward(f.Chunks) {
		in := &ref.Info
		if in.Class != b.class || in.First.Wall >= b.from || known[in.Schema] {
			continue
		}
		whole := false
		err := fault.Contain(func() (err error) {
			whole, err = b.chunk(f, ref)
			return err
		})
		ref.Opened = nil
		if err != nil && in.To < b.from { // reading the window reports the others
			b.opt.note(Lost(&f.Info, ref.Wrong(err)))
		}
		known[in.Schema] = known[in.Schema] || whole
	}
}

// chunk looks in one chunk; whole means that all of it lies before the instant.
func (b *standing) chunk(f *archive.File, ref *archive.ChunkRef) (whole bool, err error) {
	c, err := ref.Open()
	if err != nil {
		if wrong := (*archive.ChunkError)(nil); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return false, err
	}
	stamps, err := c.Stamps()
	if err != nil {
		return false, err
	}
	n := slices.IndexFunc(stamps, func(at metric.Stamp) bool { return at.Wall >= b.from })
	if n < 0 {
		n = len(stamps)
	}
	if n == 0 {
		return false, nil
	}
	d := archive.Draining{File: f, Info: b.info, Same: b.same, Metric: b.opt.Metrics}
	if ref.Info.To < b.from { // reading the window reports the others
		d.Lost = func(err error) { b.opt.note(Lost(&f.Info, err)) }
	}
	t, err := d.Standing(ref, stamps[n-1].Cont, nil)
	if err != nil || t == nil {
		return false, err
	}
	slices.SortStableFunc(t.Blocks, func(x, y *metric.Block) int { return int(min(1, max(-1, y.At.Cont-x.At.Cont))) })
	for _, block := range t.Blocks {
		if block.At.Wall < b.from && !f.Hides(block.At.Wall) {
			b.take(block)
		}
	}
	return n == len(stamps), nil
}

// take keeps the metrics of a block that no later block has.
func (b *standing) take(block *metric.Block) {
	mine := metric.Block{Group: block.Group, At: block.At, Rows: block.Rows}
	var news []*metric.Desc
	for i, d := range block.Group.Metrics {
		if !b.found[d.Name] {
			b.found[d.Name] = true
			news, mine.Cols = append(news, d), append(mine.Cols, block.Cols[i])
		}
	}
	switch {
	case len(news) == 0:
		return
	case len(news) < len(block.Group.Metrics):
		mine.Group = b.same.Group(block.Group.Name, block.Group.Indom, news)
	}
	b.blocks = append(b.blocks, &mine)
}
