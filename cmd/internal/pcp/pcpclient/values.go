package pcpclient

import (
	"fmt"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// Value is the value of an instance, or of a metric without instances, with an empty name.
type Value struct {
	Instance string
	ID       uint32
	metric.Value
}

// Reading is a metric with the values that were read.
type Reading struct {
	Name   string
	Desc   pdu.Desc
	Values []Value
	// Err is why there are no values.
	Err error
}

// Read reads metrics by name as a tool does, from their numbers to the names of their instances,
// with one or more requests of each kind. It returns an error if a tool would give up; an error
// of a single metric is in its Err.
func (c *Client) Read(names ...string) ([]Reading, error) {
	ids, err := c.IDs(names...)
	if err != nil {
		return nil, err
	}
	list := make([]Reading, len(names))
	var known []metric.PMID
	indoms := make(map[uint32]map[uint32]string)
	for i, id := range ids {
		list[i].Name = names[i]
		if id == pcp.Null {
			list[i].Err = pdu.Failure(pcp.ErrName)
			continue
		}
		d, err := c.Desc(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		list[i].Desc = *d
		known = append(known, id)
	}
	if len(known) == 0 {
		return list, nil
	}
	result, err := c.Fetch(known...)
	if err != nil {
		return nil, err
	}
	sets := result.Sets
	for i := range list {
		if list[i].Err != nil {
			continue
		}
		if err := c.fill(&list[i], &sets[0], indoms); err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Name, err)
		}
		sets = sets[1:]
	}
	return list, nil
}

// fill takes the values from a set. indoms caches the instance names by domain.
func (c *Client) fill(r *Reading, s *pdu.Set, indoms map[uint32]map[uint32]string) error {
	if len(s.Instances) == 0 {
		if s.Err != 0 {
			r.Err = pdu.Failure(s.Err)
		}
		return nil
	}
	typ, ok := r.Desc.Type.Metric()
	if told := s.Type; !ok || told != r.Desc.Type && !(told.InSitu() && r.Desc.Type.InSitu()) {
		return fmt.Errorf("it is of type %v, and its values are %v", r.Desc.Type, told)
	}
	indom := r.Desc.InDom
	if indom == pcp.Null && (len(s.Instances) != 1 || s.Instances[0] != pcp.Null) {
		return fmt.Errorf("it has no instances, and values of %d", s.Instances)
	}
	if names := indoms[indom]; indom != pcp.Null && names == nil {
		names = make(map[uint32]string)
		all, err := c.Instances(indom)
		if err != nil {
			return err
		}
		for _, in := range all {
			names[in.ID] = in.Name
		}
		indoms[indom] = names
	}
	seen := make(map[uint32]bool, len(s.Instances))
	for i, id := range s.Instances {
		if seen[id] || indom != pcp.Null && int32(id) < 0 {
			return fmt.Errorf("instance %d comes twice, or cannot be", int32(id))
		}
		seen[id] = true
		v := Value{ID: id, Instance: indoms[indom][id], Value: metric.Value{Type: typ}}
		switch {
		case typ == metric.String:
			v.Str = s.Words[i]
		case r.Desc.Type.InSitu():
			v.Bits = pcp.Bits(r.Desc.Type, uint32(s.Bits[i]))
		default:
			v.Bits = s.Bits[i]
		}
		r.Values = append(r.Values, v)
	}
	return nil
}
