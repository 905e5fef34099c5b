package pcpserve

import (
	"context"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// store sets values, until one cannot be set.
func (c *session) store(ctx context.Context, from int32, m *pdu.Result) pdu.Message {
	storer, ok := c.s.m.(Storer)
	if !ok || !c.s.rules(c.who(from)) {
		return failed(pcp.ErrPermission)
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.opt.Timeout)
	defer cancel()
	for i := range m.Sets {
		set := &m.Sets[i]
		it := c.item(set.PMID)
		if it == nil {
			return failed(pcp.ErrPMID)
		}
		var list []listed
		if it.InDom != pcp.Null {
			var err error
			if list, err = c.present(ctx, it.desc.Indom); err != nil {
				return failed(codeOf(err))
			}
		}
		for j, id := range set.Instances {
			in, ok := instanceOf(list, id)
			if !ok && it.InDom != pcp.Null {
				return failed(pcp.ErrInst)
			}
			v, ok := valueOf(it, set, j)
			if !ok {
				return failed(pcp.ErrConv)
			}
			if err := storer.Store(ctx, it.desc, in, v); err != nil {
				c.s.opt.Log.Warn("a value was not stored", "metric", it.Name, "why", err.Error())
				return failed(codeOf(err))
			}
			c.s.opt.Log.Info("a value was stored", "metric", it.Name, "value", v.String())
		}
	}
	return failed(0)
}

func instanceOf(list []listed, id uint32) (in *metric.Instance, ok bool) {
	for _, l := range list {
		if l.id == id {
			return l.instance, true
		}
	}
	return nil, false
}

// valueOf returns a value that a client sent for a metric. The metric's type decides whether a
// number sent in situ is signed.
func valueOf(it *item, set *pdu.Set, i int) (v metric.Value, ok bool) {
	v.Type = it.desc.Type
	switch {
	case it.Type == pcp.String && set.Type == pcp.String:
		v.Str = set.Words[i]
		return v, true
	case it.Type == set.Type && it.Type != pcp.String, it.Type.InSitu() && set.Type.InSitu():
		v.Bits = set.Bits[i]
		if it.Type.InSitu() {
			v.Bits = pcp.Bits(it.Type, uint32(v.Bits))
		}
		return v, true
	}
	return v, false
}
