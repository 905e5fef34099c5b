package pcpserve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

func descOf(m *pcp.Metric) pdu.Desc {
	return pdu.Desc{PMID: m.PMID, Type: m.Type, InDom: m.InDom, Semantics: m.Semantics, Units: m.Units}
}

// describe returns the description of a metric.
func (c *session) describe(m *pdu.DescReq) pdu.Message {
	it := c.item(m.PMID)
	if it == nil {
		return failed(pcp.ErrPMID)
	}
	d := descOf(it.Metric)
	return &d
}

// describeAll returns the descriptions of many metrics.
func (c *session) describeAll(m *pdu.DescIDs) pdu.Message {
	answer := &pdu.Descs{List: make([]pdu.Desc, len(m.PMIDs))}
	for i, id := range m.PMIDs {
		if it := c.item(id); it != nil {
			answer.List[i] = descOf(it.Metric)
		} else {
			answer.List[i] = pdu.Desc{PMID: pcp.Null, Type: pcp.NoSupport, InDom: pcp.Null}
		}
	}
	return answer
}

// present returns the instances of a domain, in the order of their numbers. Metrics may return
// them in another order each time.
func (c *session) present(ctx context.Context, name string) ([]listed, error) {
	ctx, cancel := context.WithTimeout(ctx, c.s.opt.Timeout)
	defer cancel()
	ins, err := c.s.m.Instances(ctx, name)
	if err != nil {
		return nil, err
	}
	list := c.s.roster(name).list(make([]listed, 0, len(ins)), ins)
	slices.SortFunc(list, func(a, b listed) int { return cmp.Compare(a.id, b.id) })
	return list, nil
}

// instances returns the instances of a domain or, for a single one, its name for its number or
// its number for its name.
func (c *session) instances(ctx context.Context, from int32, m *pdu.InstanceReq) pdu.Message {
	name, ok := c.indom(m.InDom)
	if !ok {
		return failed(pcp.ErrInDom)
	}
	if c.s.refuses(c.who(from), name) {
		return failed(pcp.ErrPermission)
	}
	list, err := c.present(ctx, name)
	if err != nil {
		return failed(codeOf(err))
	}
	answer := &pdu.Instances{InDom: m.InDom}
	switch {
	case m.Instance == pcp.Null && m.Name == "":
		answer.List = make([]pdu.Instance, len(list))
		for i, l := range list {
			answer.List[i] = pdu.Instance{ID: l.id, Name: l.name}
		}
		return answer
	case m.Instance != pcp.Null:
		for _, l := range list {
			if l.id == m.Instance {
				answer.List = []pdu.Instance{{ID: pcp.Null, Name: l.name}}
				return answer
			}
		}
	default:
		for _, l := range list {
			if called(l.name, m.Name) {
				answer.List = []pdu.Instance{{ID: l.id}}
				return answer
			}
		}
	}
	return failed(pcp.ErrInst)
}

// called reports whether asked is a name, or its first word.
func called(name, asked string) bool {
	return name == asked || len(asked) < len(name) && name[len(asked)] == ' ' && strings.HasPrefix(name, asked) && !strings.Contains(asked, " ")
}

// text returns the help text of a metric or an instance domain: the short one if there is no
// long one.
func (c *session) text(m *pdu.TextReq) pdu.Message {
	long := m.Type&pdu.TextHelp != 0
	var text string
	switch {
	case m.Type&pdu.TextPMID != 0:
		it := c.item(metric.PMID(m.Ident))
		if it == nil {
			return failed(pcp.ErrPMID)
		}
		if text = it.desc.Help; long && it.desc.LongHelp != "" {
			text = it.desc.LongHelp
		}
	case m.Type&pdu.TextInDom != 0:
		name, ok := c.indom(m.Ident)
		if !ok {
			return failed(pcp.ErrInDom)
		}
		var more string
		if text, more = IndomHelp(name); long && more != "" {
			text = more
		}
	}
	if text == "" {
		return failed(pcp.ErrText)
	}
	return &pdu.Text{Ident: m.Ident, Text: text}
}

// labels returns the labels of a metric, a domain, its instances or the host.
func (c *session) labels(ctx context.Context, from int32, m *pdu.LabelReq) pdu.Message {
	answer := &pdu.Labels{Ident: m.Ident, Type: m.Type}
	var list []metric.Label
	switch m.Type {
	case pcp.LabelContext:
		list = pcp.HostLabels(&c.world.cat.Host, c.world.cat.Labels...)
	case pcp.LabelDomain:
		if c.domain == 0 && !c.hasDomain(m.Ident) || c.domain != 0 && m.Ident != c.domain {
			return failed(pcp.ErrNoAgent)
		}
		list = []metric.Label{{Name: "agent", Value: pcp.Root}}
	case pcp.LabelCluster:
		// There are none, for any of them.
	case pcp.LabelItem:
		it := c.item(metric.PMID(m.Ident))
		if it == nil {
			return failed(pcp.ErrPMID)
		}
		list = pcp.MetricLabels(it.Metric, "")
	case pcp.LabelIndom, pcp.LabelInstances:
		name, ok := c.indom(m.Ident)
		if !ok {
			return failed(pcp.ErrInDom)
		}
		if m.Type == pcp.LabelInstances {
			return c.instanceLabels(ctx, from, name, answer)
		}
		list = []metric.Label{{Name: "indom_name", Value: name}}
	default:
		return failed(pcp.ErrNoLabels)
	}
	if len(list) > 0 {
		json, refs := pcp.LabelJSON(list, int(m.Type))
		answer.Sets = []pdu.LabelSet{{Instance: pcp.Null, JSON: json, Refs: refs}}
	}
	return answer
}

func (c *session) hasDomain(domain uint32) bool {
	for _, it := range c.world.items {
		if it.domain() == domain {
			return true
		}
	}
	return false
}

func (c *session) instanceLabels(ctx context.Context, from int32, name string, answer *pdu.Labels) pdu.Message {
	who := c.who(from)
	if c.s.refuses(who, name) {
		return failed(pcp.ErrPermission)
	}
	list, err := c.present(ctx, name)
	if err != nil {
		return failed(codeOf(err))
	}
	for _, l := range list {
		labels := c.s.labelsFor(who, l.instance, pcp.InstanceLabels(l.instance))
		if len(labels) == 0 {
			continue
		}
		json, refs := pcp.LabelJSON(labels, pcp.LabelInstances)
		answer.Sets = append(answer.Sets, pdu.LabelSet{Instance: l.id, JSON: json, Refs: refs})
	}
	return answer
}
