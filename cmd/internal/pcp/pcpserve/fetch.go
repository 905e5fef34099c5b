package pcpserve

import (
	"context"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// fetching is what a session keeps from one fetch to the next, so that it need not be made
// again.
type fetching struct {
	world  *world // the world that the other fields are for
	round  uint32
	asked  []uint32 // by item: the round in which it was last requested
	want   []*metric.Desc
	places []location                // by item
	groups map[*metric.Group][]*item // by column
	result pdu.Result
	ids    []uint32
	bits   []uint64
	words  []string
	size   int // approximate size of the result
}

// A location says where the values of a metric are.
type location struct {
	round uint32
	block *metric.Block
	col   *metric.Column
	ids   []uint32 // instance numbers of the block's rows
}

// singular is the instance of a metric without an instance domain.
var singular = []uint32{pcp.Null}

const (
	// maxAnswer is how long an answer may be. It is enough for all of ten thousand processes,
	// but not for the same metrics again and again.
	maxAnswer = 32 << 20
	// maxFlight is how much memory all the long answers being sent may take together.
	maxFlight = 64 << 20
	longOne   = 256 << 10
	// The following is what may stay from one fetch to the next: more for a pmcd, which asks for
	// many clients, and less for each of many clients.
	keptCells, keptOfClient = 1 << 16, 1 << 12
	keptSets                = 1 << 9
)

// values answers a fetch: with a set for each requested metric, in that order.
func (c *session) values(ctx context.Context, from int32, m *pdu.Fetch) pdu.Message {
	f := &c.fetch
	f.begin(c.world)
	for _, id := range m.PMIDs {
		it := c.item(id)
		if it == nil || f.asked[it.index] == f.round || it.desc.Unsupported != "" {
			continue
		}
		f.asked[it.index] = f.round
		f.want = append(f.want, it.desc)
	}
	view, err := c.view(ctx)
	if err != nil && len(f.want) == len(m.PMIDs) {
		return failed(codeOf(err))
	}
	if err == nil {
		f.lay(c.s, view)
	}
	f.result.Highres, f.result.Seconds, f.result.Nanoseconds = m.Highres, 0, 0
	if c.domain == 0 {
		at := view.At.Time()
		if view.At.Wall == 0 {
			at = time.Now()
		}
		f.result.Seconds, f.result.Nanoseconds = uint64(at.Unix()), uint64(at.Nanosecond())
	}
	who, profile := c.who(from), c.profile(m.Context)
	f.size = 0
	for _, id := range m.PMIDs {
		set := pdu.Set{PMID: id}
		switch it := c.item(id); {
		case it == nil:
			set.Err = pcp.ErrPMID
		case it.desc.Unsupported != "":
			set.Err = pcp.ErrAppVersion
		case err != nil:
			set.Err = codeOf(err)
		case f.places[it.index].round != f.round:
			set.Err = pcp.ErrorOf(metric.NotRead)
			if why, ok := view.Missing[it.desc]; ok {
				set.Err = pcp.ErrorOf(why)
			}
		default:
			set.Type = it.Type
			f.fill(&set, it, &f.places[it.index], profile.of(it.InDom), shown{c.s, who})
		}
		if f.size += sizeOf(&set); f.size > maxAnswer {
			return failed(pcp.ErrTooBig)
		}
		f.result.Sets = append(f.result.Sets, set)
	}
	return &f.result
}

func (f *fetching) begin(w *world) {
	if f.world != w {
		n := len(w.items)
		*f = fetching{world: w, asked: make([]uint32, n), places: make([]location, n), groups: make(map[*metric.Group][]*item)}
	}
	if f.round++; f.round == 0 {
		clear(f.asked)
		clear(f.places)
		f.round = 1
	}
	f.want, f.result.Sets = f.want[:0], f.result.Sets[:0]
	f.ids, f.bits, f.words = f.ids[:0], f.bits[:0], f.words[:0]
}

// trim releases the values of the last answer, which was sent, so that a client that asks once
// an hour does not keep them in memory. It also releases buffers that are too large to keep
// until the next fetch.
func (f *fetching) trim(cells int) {
	clear(f.result.Sets)
	clear(f.words)
	for i := range f.places {
		if f.places[i].round == f.round {
			f.places[i] = location{}
		}
	}
	if cap(f.result.Sets) > max(keptSets, 2*len(f.places)) {
		f.result.Sets = nil // the client asked for the same metrics many times
	}
	if max(cap(f.ids), cap(f.bits), cap(f.words)) > cells {
		f.ids, f.bits, f.words = nil, nil, nil
	}
}

// view reads the wanted metrics.
func (c *session) view(ctx context.Context) (*View, error) {
	if len(c.fetch.want) == 0 {
		return &View{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.opt.Timeout)
	defer cancel()
	view, err := c.s.m.Fetch(ctx, c.fetch.want)
	if view == nil {
		view = &View{}
	}
	return view, err
}

// lay notes where the values of the requested metrics are.
func (f *fetching) lay(s *Server, view *View) {
	for _, b := range view.Blocks {
		var ids []uint32
		for i, it := range f.items(b.Group) {
			if it == nil || f.asked[it.index] != f.round {
				continue
			}
			if ids == nil {
				if ids = singular; b.Group.Indom != metric.NoIndom {
					ids = s.roster(b.Group.Indom).seat(b)
				}
			}
			f.places[it.index] = location{f.round, b, &b.Cols[i], ids}
		}
	}
}

// items returns the items of the columns of a group.
func (f *fetching) items(g *metric.Group) []*item {
	list, ok := f.groups[g]
	if !ok {
		if len(f.groups) >= maxGroups {
			clear(f.groups)
		}
		list = make([]*item, len(g.Metrics))
		for i, d := range g.Metrics {
			list[i] = f.world.find(d)
		}
		f.groups[g] = list
	}
	return list
}

// shown is the client that values are for.
type shown struct {
	s *Server
	client
}

// fill puts the values of the chosen instances of a metric into a set. If none has a value, the
// set has their reason instead.
func (f *fetching) fill(set *pdu.Set, it *item, p *location, chosen *choice, to shown) {
	col := p.col
	if to.s.refuses(to.client, it.desc.Indom) {
		set.Err = pcp.ErrPermission
		return
	}
	hidden := it.private && !to.s.sees(to.client)
	narrower := it.Narrower()
	if col.Miss == nil && chosen == nil && !hidden && !narrower {
		set.Instances = p.ids
		if it.Type == pcp.String {
			set.Words = f.text(col)
		} else {
			set.Bits = col.Bits
		}
		return
	}
	ids, cells, words := len(f.ids), len(f.bits), len(f.words)
	why := metric.Present
	for i, id := range p.ids {
		switch {
		case !chosen.has(id) && it.InDom != pcp.Null:
			continue
		case hidden && !to.owns(p.block.Rows[i]):
			why = metric.Permission
			continue
		case col.Miss != nil && col.Miss[i] != metric.Present:
			if why == metric.Present {
				why = col.Miss[i]
			}
			continue
		case narrower && !it.Fits(col.Bits[i]):
			why = pcp.TooWide
			continue
		}
		f.ids = append(f.ids, id)
		if it.Type == pcp.String {
			f.words = append(f.words, col.Word(i))
		} else {
			f.bits = append(f.bits, col.Bits[i])
		}
	}
	set.Instances, set.Bits, set.Words = f.ids[ids:len(f.ids):len(f.ids)], f.bits[cells:len(f.bits):len(f.bits)], f.words[words:len(f.words):len(f.words)]
	if len(set.Instances) == 0 && why != metric.Present {
		set.Err = pcp.ErrorOf(why)
	}
}

// text returns the strings of a column.
func (f *fetching) text(col *metric.Column) []string {
	from := len(f.words)
	for i := range col.Bits {
		f.words = append(f.words, col.Word(i))
	}
	return f.words[from:len(f.words):len(f.words)]
}

// size returns the approximate size of an answer that may be long, else 0.
func (c *session) size(m pdu.Message) int {
	if m == pdu.Message(&c.fetch.result) {
		return c.fetch.size
	}
	return 0
}

// sizeOf returns the approximate size of a set in bytes.
func sizeOf(set *pdu.Set) int {
	n := 12 + 20*len(set.Instances)
	for _, w := range set.Words {
		n += len(w)
	}
	return n
}
