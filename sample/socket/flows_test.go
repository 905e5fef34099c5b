package socket

import "testing"

type closable struct{ *statistics }

func (closable) Close() error { return nil }

func TestFlows(t *testing.T) {
	b := NewBook()
	b.Flows = new(Flows)
	if got, lists := b.Flows.Of(4); got != (Bytes{}) || lists != 0 {
		t.Error(got, lists)
	}
	in := uint64(1000)
	f := &fakeControl{answer: func(r ntMessage) []ntBytes {
		return []ntBytes{flowBytes(1, in, 0), flowBytes(2, 50, 0).u32(152+72, 8), flowBytes(3, 7, 0).u32(152+72, 0), success(r.context(), 0)}
	}}
	c := closable{newStatistics(f)}
	if err := b.Look(c, 1); err != nil {
		t.Fatal(err)
	}
	in = 1500
	if err := b.Look(c, 2); err != nil {
		t.Fatal(err)
	}
	// One began and closed meanwhile.
	f.queue = append(f.queue, flowBytes(9, 30, ntClosing))
	if err := c.drain(); err != nil {
		t.Fatal(err)
	}
	a, _ := b.Flows.Of(4)
	other, lists := b.Flows.Of(8)
	if a.In != 1500+30 || other.In != 50 || lists != 2 {
		t.Error(a, other, lists)
	}
	var none *Flows
	none.add(1, Bytes{1, 1})
	none.listed()
	if got, lists := none.Of(1); got != (Bytes{}) || lists != 0 {
		t.Error(got, lists)
	}
}
