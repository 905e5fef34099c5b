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

// A session is one connection. It answers one request at a time.
type session struct {
	s *Server
	// domain is the domain that an agent answers for; 0: all domains.
	domain uint32
	world  *world // what the other side has seen

	client   client            // of a connection from a client itself
	clients  map[int32]*client // of pmcd's clients, by pmcd's numbers for them
	deaf     bool              // ignore what pmcd says about its clients
	profiles map[int32]*profile
	listed   int      // sum of listed in all profiles
	latest   *profile // the last profile that pmcd sent

	fetch fetching
}

const (
	maxContexts = 1 << 14 // of a pmcd
	maxProfiles = 64      // of a client
	maxListed   = 1 << 15 // how many instances and domains these may name in all, more than any single profile can
)

func (s *Server) session(domain uint32) *session {
	return &session{s: s, domain: domain, world: s.world(), clients: make(map[int32]*client), profiles: make(map[int32]*profile)}
}

// who returns the client that asks.
func (c *session) who(from int32) client {
	if c.domain == 0 {
		return c.client
	}
	if k := c.clients[from]; k != nil {
		return *k
	}
	return client{}
}

// news returns the flags for what has changed since the other side's last request.
func (c *session) news() (flags int32) {
	w := c.s.world()
	if w == c.world {
		return 0
	}
	if c.world == nothing {
		c.world = w // nothing was sent yet
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

// item returns the metric with this number, if the session answers for it.
func (c *session) item(id metric.PMID) *item {
	it := c.world.byPMID[id]
	if it == nil || c.domain != 0 && it.domain() != c.domain {
		return nil
	}
	return it
}

// indom returns the name of an instance domain, if the session answers for it.
func (c *session) indom(id uint32) (name string, ok bool) {
	if c.domain != 0 && id>>22 != c.domain {
		return "", false
	}
	name, ok = c.world.indoms[id]
	return name, ok
}

// failed returns the answer for an error code.
func failed(code int32) pdu.Message { return &pdu.Error{Code: code} }

// codeOf returns PCP's error code for err.
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

// answer returns the answer to a message, or nil if it needs none. The answer is valid until the
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

// wantsAnswer reports whether the sender of such a message waits for an answer.
func wantsAnswer(k pdu.Kind) bool {
	switch k {
	case pdu.KindProfile, pdu.KindAttr, pdu.KindCreds, pdu.KindError:
		return false
	}
	return true
}

// attribute notes what pmcd says about one of its clients. What a client
// itself sends is ignored: its user is what the kernel says.
func (c *session) attribute(from int32, m *pdu.Attr) {
	if c.domain == 0 || c.deaf || m.Attribute != pdu.AttrUserID {
		return
	}
	uid, err := strconv.ParseUint(m.Value, 10, 32)
	if len(c.clients) >= maxContexts {
		clear(c.clients) // pmcd forgot to say that clients have gone
	}
	c.clients[from] = &client{uid: uint32(uid), known: err == nil}
}

// A profile says which instances a client wants.
type profile struct {
	all    bool // the default for domains without a choice
	chosen map[uint32]*choice
	listed int // how many instances and domains it names
}

type choice struct {
	all    bool     // except
	except []uint32 // these, in order
}

// choose notes which instances are wanted. pmcd sends that again whenever another client asks.
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
		clear(c.profiles) // no tool has that many contexts, or lists that many instances
		c.listed = 0
	}
	c.profiles[m.Context] = p
	c.listed += p.listed
}

// everything is the profile of a client that sent none.
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

// of returns which instances of a domain are wanted; nil: all.
func (p *profile) of(indom uint32) *choice {
	if c := p.chosen[indom]; c != nil {
		return c
	}
	if p.all {
		return nil
	}
	return &choice{}
}

// has reports whether an instance is wanted. A nil choice wants all.
func (c *choice) has(id uint32) bool {
	if c == nil {
		return true
	}
	_, excepted := slices.BinarySearch(c.except, id)
	return excepted != c.all
}
