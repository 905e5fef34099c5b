package pcpserve

import (
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// ids answers a request for the numbers of names.
func (c *session) ids(m *pdu.Names) pdu.Message {
	answer := &pdu.IDs{PMIDs: make([]metric.PMID, len(m.Names))}
	known, why := int32(0), int32(pcp.ErrName)
	for i, name := range m.Names {
		answer.PMIDs[i] = pcp.Null
		switch it := c.world.named(name); {
		case it != nil && c.item(it.PMID) != nil:
			answer.PMIDs[i] = it.PMID
			known++
		case len(c.world.below(name)) > 0:
			why = pcp.ErrNonLeaf
		}
	}
	if known == 0 && (len(m.Names) == 1 || c.domain != 0) {
		return failed(why)
	}
	if c.domain == 0 {
		answer.Status = known
	}
	return answer
}

// names answers a request for the names of a number.
func (c *session) names(m *pdu.IDs) pdu.Message {
	if len(m.PMIDs) != 1 {
		return failed(pcp.ErrPMID)
	}
	it := c.item(m.PMIDs[0])
	if it == nil {
		return failed(pcp.ErrPMID)
	}
	return &pdu.Names{Names: append([]string{it.Name}, it.also...)}
}

// children answers a request for the names directly below a name.
func (c *session) children(m *pdu.Children) pdu.Message {
	answer := &pdu.Names{}
	if m.Statuses {
		answer.Branches = []bool{}
	}
	skip := 0
	if m.Name != "" {
		skip = len(m.Name) + 1
	}
	last := ""
	for _, it := range c.world.below(m.Name) {
		if c.item(it.PMID) == nil {
			continue
		}
		child, _, branch := strings.Cut(it.Name[skip:], ".")
		if child == last {
			continue
		}
		last = child
		answer.Names = append(answer.Names, child)
		if m.Statuses {
			answer.Branches = append(answer.Branches, branch)
		}
	}
	if len(answer.Names) == 0 && c.world.named(m.Name) == nil {
		return failed(pcp.ErrName)
	}
	return answer
}

// traverse answers a request for all metrics at and below a name.
func (c *session) traverse(m *pdu.Traverse) pdu.Message {
	answer := &pdu.Names{}
	if it := c.world.named(m.Name); it != nil && c.item(it.PMID) != nil {
		answer.Names = append(answer.Names, it.Name)
	}
	for _, it := range c.world.below(m.Name) {
		if c.item(it.PMID) != nil {
			answer.Names = append(answer.Names, it.Name)
		}
	}
	if len(answer.Names) == 0 {
		return failed(pcp.ErrName)
	}
	return answer
}
