package pcpclient

import (
	"fmt"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// Traverse returns the full names of all metrics at and below a name; "" for all.
func (c *Client) Traverse(name string) ([]string, error) {
	a, err := ask[*pdu.Names](c, &pdu.Traverse{Name: name})
	if err != nil {
		return nil, err
	}
	return a.Names, nil
}

// Children returns the names directly below a name, and which of them have others below.
func (c *Client) Children(name string) (names []string, branches []bool, err error) {
	a, err := ask[*pdu.Names](c, &pdu.Children{Name: name, Statuses: true})
	if err != nil {
		return nil, nil, err
	}
	if len(a.Branches) != len(a.Names) {
		return nil, nil, fmt.Errorf("the children of %q come without statuses", name)
	}
	return a.Names, a.Branches, nil
}

// IDs returns the numbers of metrics; pcp.Null for unknown ones.
func (c *Client) IDs(names ...string) ([]metric.PMID, error) {
	a, err := ask[*pdu.IDs](c, &pdu.Names{Names: names})
	if err != nil {
		return nil, err
	}
	if len(a.PMIDs) != len(names) {
		return nil, fmt.Errorf("%d numbers for %d names", len(a.PMIDs), len(names))
	}
	return a.PMIDs, nil
}

// Names returns the names of a metric.
func (c *Client) Names(id metric.PMID) ([]string, error) {
	a, err := ask[*pdu.Names](c, &pdu.IDs{PMIDs: []metric.PMID{id}})
	if err != nil {
		return nil, err
	}
	return a.Names, nil
}

// Desc returns the description of a metric.
func (c *Client) Desc(id metric.PMID) (*pdu.Desc, error) {
	a, err := ask[*pdu.Desc](c, &pdu.DescReq{PMID: id})
	if err != nil {
		return nil, err
	}
	if a.PMID != id {
		return nil, fmt.Errorf("asked what %v is, it says what %v is", id, a.PMID)
	}
	return a, nil
}

// Descs returns the descriptions of many metrics, in one request.
func (c *Client) Descs(ids ...metric.PMID) ([]pdu.Desc, error) {
	a, err := ask[*pdu.Descs](c, &pdu.DescIDs{PMIDs: ids})
	if err != nil {
		return nil, err
	}
	if len(a.List) != len(ids) {
		return nil, fmt.Errorf("asked what %d metrics are, it says it of %d", len(ids), len(a.List))
	}
	for i, d := range a.List {
		if d.PMID != ids[i] && d.PMID != pcp.Null {
			return nil, fmt.Errorf("asked what %v is, it says what %v is", ids[i], d.PMID)
		}
	}
	return a.List, nil
}

// Instances returns the instances of an instance domain.
func (c *Client) Instances(indom uint32) ([]pdu.Instance, error) {
	return c.instances(&pdu.InstanceReq{InDom: indom, Instance: pcp.Null})
}

func (c *Client) instances(m *pdu.InstanceReq) ([]pdu.Instance, error) {
	a, err := ask[*pdu.Instances](c, m)
	if err != nil {
		return nil, err
	}
	if a.InDom != m.InDom {
		return nil, fmt.Errorf("asked for the instances of %s, it gives those of %s", pcp.InDomString(m.InDom), pcp.InDomString(a.InDom))
	}
	return a.List, nil
}

// InstanceName returns the name of an instance.
func (c *Client) InstanceName(indom, id uint32) (string, error) {
	list, err := c.instances(&pdu.InstanceReq{InDom: indom, Instance: id})
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("asked for one instance of %s, it gives %d", pcp.InDomString(indom), len(list))
	}
	return list[0].Name, nil
}

// InstanceID returns the number of the instance with a name.
func (c *Client) InstanceID(indom uint32, name string) (uint32, error) {
	list, err := c.instances(&pdu.InstanceReq{InDom: indom, Instance: pcp.Null, Name: name})
	if err != nil {
		return 0, err
	}
	if len(list) != 1 {
		return 0, fmt.Errorf("asked for one instance of %s, it gives %d", pcp.InDomString(indom), len(list))
	}
	return list[0].ID, nil
}

// Text returns a help text: what is one of pdu's Text constants, ident a metric or an instance
// domain.
func (c *Client) Text(ident, what uint32) (string, error) {
	a, err := ask[*pdu.Text](c, &pdu.TextReq{Ident: ident, Type: what})
	if err != nil {
		return "", err
	}
	if a.Ident != ident {
		return "", fmt.Errorf("asked for the help of %#x, it gives that of %#x", ident, a.Ident)
	}
	return a.Text, nil
}

// Labels returns the labels that ident has at one level; kind is one of pcp's Label constants.
// For labels of instances there is a set for each instance.
func (c *Client) Labels(ident, kind uint32) (map[uint32][]metric.Label, error) {
	a, err := ask[*pdu.Labels](c, &pdu.LabelReq{Ident: ident, Type: kind})
	if err != nil {
		return nil, err
	}
	if a.Ident != ident || a.Type != kind {
		return nil, fmt.Errorf("asked for labels %d of %#x, it gives %d of %#x", kind, ident, a.Type, a.Ident)
	}
	sets := make(map[uint32][]metric.Label, len(a.Sets))
	for _, s := range a.Sets {
		if s.Err < 0 {
			return nil, pdu.Failure(s.Err)
		}
		list, err := pcp.ParseLabels(s.JSON)
		if err != nil {
			return nil, err
		}
		if len(list) != len(s.Refs) {
			return nil, fmt.Errorf("%d labels, and %d in %s", len(s.Refs), len(list), s.JSON)
		}
		for i, r := range s.Refs {
			if name := s.JSON[r.Name:][:r.NameLen]; name != list[i].Name {
				return nil, fmt.Errorf("label %d of %s is said to be called %s", i, s.JSON, name)
			}
			if _, err := pcp.ParseLabels(`{"a":` + s.JSON[r.Value:][:r.ValueLen] + `}`); err != nil {
				return nil, fmt.Errorf("the value of label %d of %s is not where it says", i, s.JSON)
			}
		}
		sets[s.Instance] = list
	}
	return sets, nil
}

// Want selects the instances of one instance domain for all further fetches: only ids. Other
// domains have all instances. Without ids, all instances of all domains are selected again.
func (c *Client) Want(indom uint32, ids ...uint32) error {
	m := &pdu.Profile{Context: c.Context}
	if len(ids) > 0 {
		m.InDoms = []pdu.InDomProfile{{InDom: indom, Choice: pdu.Choice{Exclude: true}, Instances: ids}}
	}
	return c.Send(m)
}

// Fetch returns the values of metrics, in order. From an agent it asks for them as pmcd does:
// without nanoseconds.
func (c *Client) Fetch(ids ...metric.PMID) (*pdu.Result, error) {
	m := &pdu.Fetch{Context: c.Context, PMIDs: ids, Highres: !c.pmcd && c.Features&pdu.FeatureHighres != 0}
	a, err := ask[*pdu.Result](c, m)
	if err != nil {
		return nil, err
	}
	if a.Highres != m.Highres || len(a.Sets) != len(ids) {
		return nil, fmt.Errorf("%v of %d metrics is answered with %v of %d", m.Kind(), len(ids), a.Kind(), len(a.Sets))
	}
	for i := range a.Sets {
		if a.Sets[i].PMID != ids[i] {
			return nil, fmt.Errorf("asked for %v, it gives %v", ids[i], a.Sets[i].PMID)
		}
	}
	if flags := a.Seconds; c.pmcd && flags > 0 {
		if flags > 0x3f {
			return nil, fmt.Errorf("an agent's result has the time %d, which pmcd takes for flags", flags)
		}
		c.Changes |= int32(flags)
	}
	return a, nil
}

// Store sets a value.
func (c *Client) Store(s pdu.Set) error {
	a, err := c.Ask(&pdu.Result{Sets: []pdu.Set{s}})
	if e, ok := a.(*pdu.Error); ok && e.Code == 0 {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("a store is answered with %v", a.Kind())
	}
	return err
}
