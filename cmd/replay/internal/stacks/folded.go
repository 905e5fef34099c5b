package stacks

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// WriteFolded writes a line for each stack, outermost function first, with its number of
// samples, as flame graph programs read it.
func (p *Profile) WriteFolded(w io.Writer, by By, state State) error {
	b := bufio.NewWriter(w)
	var line []byte
	var write func(n *Node, before int)
	write = func(n *Node, before int) {
		line = line[:before]
		if name := p.Name(n); name != "" {
			if before > 0 {
				line = append(line, ';')
			}
			line = append(line, unfolding.Replace(name)...)
		}
		if n.Self > 0 {
			b.Write(line)
			b.WriteByte(' ')
			b.WriteString(strconv.FormatUint(n.Self, 10))
			b.WriteByte('\n')
		}
		here := len(line)
		for _, c := range n.Children {
			write(c, here)
		}
	}
	write(p.Tree(by, state), 0)
	return b.Flush()
}

// unfolding replaces the separator of names.
var unfolding = strings.NewReplacer(";", ":")

// Folded writes a chain of places as a part of such a line.
func (p *Profile) Folded(chain []int32) string {
	var b strings.Builder
	for i, n := range chain {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(unfolding.Replace(p.Functions[p.Places[n].Function].Name))
	}
	return b.String()
}
