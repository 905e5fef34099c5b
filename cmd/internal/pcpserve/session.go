package pcpserve

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// A session is one connection: it has one request answered at a time.
type session struct {
	s *Server
	// domain is the one that an agent answers for; 0 if it is for everything.
	domain uint32
	world  *world // as the other side knows it

	client   client            // of a connection that is a client's own
	clients  map[int32]*client // of pmcd's, by its numbers for them
	deaf     bool              // to what is said of these
	profiles map[int32]*profile
	listed   int      // of all of these, as profile.listed
	latest   *profile // pmcd's

	fetch fetching
}

const (
	maxContexts = 1 << 14 // of a pmcd's
	maxProfiles = 64      // of a client's
	maxListed   = 1 << 15 // what these may name in all: more than any one can
)

func (s *Server) session(domain uint32) *session {
	return &session{s: s, domain: domain, world: s.world(), clients: make(map[int32]*client), profiles: make(map[int32]*profile)}
}

// who asks.
func (c *session) who(from int32) client {
	if c.domain == 0 {
		return c.client
	}
	if k := c.clients[from]; k != nil {
		return *k
	}
	return client{}
}

// news are the flags that tell the other side what has changed since it asked last.
func (c *session) news() (flags int32) {
	w := c.s.world()
	if w == c.world {
		return 0
	}
	if c.world == nothing {
		c.world = w // nothing was told yet
		return 0
	}
	if !w.sameNames(c.world) {
		flags |= pdu.NamesChanged
	}
	if !w.sameLabels(c.world) {
		flags |= pdu.LabelsChanged
	}
	c.world = w
	return flags
}

// item is the metric of a number, of those that are answered for.
func (c *session) item(id metric.PMID) *item {
	it := c.world.byPMID[id]
	if it == nil || c.domain != 0 && it.domain() != c.domain {
		return nil
	}
	return it
}

// indom is the name of an instance domain, of those that are answered for.
func (c *session) indom(id uint32) (name string, ok bool) {
	if c.domain != 0 && id>>22 != c.domain {
		return "", false
	}
	name, ok = c.world.indoms[id]
	return name, ok
}

// failed is the answer that an error is.
func failed(code int32) pdu.Message { return &pdu.Error{Code: code} }

// codeOf is PCP's error for err.
func codeOf(err error) int32 {
	var f pdu.Failure
	switch {
	case errors.As(err, &f):
		return int32(f)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return pcp.ErrAgain
	case errors.Is(err, ErrReadOnly), errors.Is(err, fs.ErrPermission):
		return pcp.ErrPermission
	}
	return pcp.ErrAgain
}

// answer is the answer to a message; nil if it has none. What it holds stays until the
// next message.
func (c *session) answer(ctx context.Context, from int32, m pdu.Message) pdu.Message {
	switch m := m.(type) {
	case *pdu.Fetch:
		return c.values(ctx, from, m)
	case *pdu.Profile:
		c.choose(m)
	case *pdu.DescReq:
		return c.describe(m)
	case *pdu.DescIDs:
		return c.describeAll(m)
	case *pdu.InstanceReq:
		return c.instances(ctx, from, m)
	case *pdu.TextReq:
		return c.text(m)
	case *pdu.LabelReq:
		return c.labels(ctx, from, m)
	case *pdu.Result:
		return c.store(ctx, from, m)
	case *pdu.Names:
		return c.ids(m)
	case *pdu.IDs:
		return c.names(m)
	case *pdu.Children:
		return c.children(m)
	case *pdu.Traverse:
		return c.traverse(m)
	case *pdu.Attr:
		c.attribute(from, m)
	case *pdu.Error:
		if m.Code == pcp.ErrNotConn {
			delete(c.clients, from)
		}
	case *pdu.Creds, *pdu.Greeting:
	default:
		return failed(pcp.ErrNYI)
	}
	return nil
}

// wantsAnswer reports whether one who sends a message of that kind waits for an answer.
func wantsAnswer(k pdu.Kind) bool {
	switch k {
	case pdu.KindProfile, pdu.KindAttr, pdu.KindCreds, pdu.KindError:
		return false
	}
	return true
}

// attribute notes something about a client of pmcd's. What a client says of itself to
// us, and not the kernel, is not believed.
func (c *session) attribute(from int32, m *pdu.Attr) {
	if c.domain == 0 || c.deaf || m.Attribute != pdu.AttrUserID {
		return
	}
	uid, err := strconv.ParseUint(m.Value, 10, 32)
	if len(c.clients) >= maxContexts {
		clear(c.clients) // of clients that pmcd forgot to take leave of
	}
	c.clients[from] = &client{uid: uint32(uid), known: err == nil}
}

// A profile is which instances are wanted.
type profile struct {
	all    bool // unless there is a choice
	chosen map[uint32]*choice
	listed int // instances and domains that it names
}

type choice struct {
	all    bool     // but
	except []uint32 // these, in order
}

// choose notes which instances are wanted. Pmcd says it again whenever another client
// asks.
func (c *session) choose(m *pdu.Profile) {
	p := &profile{all: !m.Exclude}
	if len(m.InDoms) > 0 {
		p.chosen = make(map[uint32]*choice, len(m.InDoms))
	}
	for _, d := range m.InDoms {
		slices.Sort(d.Instances)
		p.chosen[d.InDom] = &choice{all: !d.Exclude, except: d.Instances}
		p.listed += 1 + len(d.Instances)
	}
	if c.domain != 0 {
		c.latest = p
		return
	}
	if had := c.profiles[m.Context]; had != nil {
		c.listed -= had.listed
		delete(c.profiles, m.Context)
	}
	if len(c.profiles) >= maxProfiles || c.listed+p.listed > maxListed {
		clear(c.profiles) // no tool has that many contexts, nor wants so little of so much
		c.listed = 0
	}
	c.profiles[m.Context] = p
	c.listed += p.listed
}

// everything is the profile of who has none.
var everything = &profile{all: true}

func (c *session) profile(context int32) *profile {
	p := c.latest
	if c.domain == 0 {
		p = c.profiles[context]
	}
	if p == nil {
		return everything
	}
	return p
}

// of is what is wanted of an instance domain.
func (p *profile) of(indom uint32) *choice {
	if c := p.chosen[indom]; c != nil {
		return c
	}
	if p.all {
		return nil
	}
	return &choice{}
}

// has reports whether an instance is wanted; no choice is all.
func (c *choice) has(id uint32) bool {
	if c == nil {
		return true
	}
	_, excepted := slices.BinarySearch(c.except, id)
	return excepted != c.all
}
