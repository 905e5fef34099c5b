package darwintest

import "fmt"

// object is a node of the I/O registry.
type object struct {
	thing
	class    string
	conforms []string
	parent   *object
	children []*object
}

// property is a typed value, a dictionary or an array.
type property struct {
	name, kind string
	value      *expr
	sub        []*property
}

func parseProperty(c *statement, at int) (*property, error) {
	p := &property{name: c.word(at), kind: c.word(at + 1)}
	if p.kind == "dict" || p.kind == "array" {
		for _, sub := range c.block {
			child, err := parseProperty(sub, 0)
			if err != nil {
				return nil, err
			}
			p.sub = append(p.sub, child)
		}
		return p, nil
	}
	var err error
	p.value, _, err = c.expr(at + 2)
	return p, err
}

func setProperty(list []*property, p *property, merge bool) []*property {
	for i, old := range list {
		if old.name != p.name {
			continue
		}
		if merge && old.kind == "dict" && p.kind == "dict" {
			for _, sub := range p.sub {
				old.sub = setProperty(old.sub, sub, true)
			}
			return list
		}
		list[i] = p
		return list
	}
	return append(list, p)
}

func (o *object) fill(w *World, block []*statement) error {
	for _, c := range block {
		var err error
		switch c.word(0) {
		case "node":
			child := &object{thing: *newThing(c.word(1)), class: "IOService", parent: o}
			for i := 2; i+1 < len(c.words); i += 2 {
				switch c.word(i) {
				case "class":
					child.class = c.word(i + 1)
				case "conforms":
					child.conforms = append(child.conforms, c.word(i+1))
				}
			}
			o.children = append(o.children, child)
			err = child.fill(w, c.block)
		case "prop", "merge":
			var p *property
			if p, err = parseProperty(c, 1); err == nil {
				o.props = setProperty(o.props, p, c.word(0) == "merge")
			}
		case "at":
			target := w.registry.named(c.word(1))
			if target == nil {
				return c.fail("the registry has no %q", c.word(1))
			}
			err = target.fill(w, c.block)
		default:
			if !o.life(c) {
				err = fmt.Errorf("%s:%d: the oracle does not know %q", c.file, c.line, c.word(0))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *object) named(name string) *object {
	if o.name == name {
		return o
	}
	for _, c := range o.children {
		if x := c.named(name); x != nil {
			return x
		}
	}
	return nil
}
