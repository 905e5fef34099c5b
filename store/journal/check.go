package journal

import (
	"fmt"

	"tachograph/sample/metric"
)

// maxTexts limits the text in one record.
const maxTexts = 1 << 25

// check refuses a tick that cannot be coded, before any of it is coded.
func check(t *metric.Tick) error {
	if t.Class >= metric.NumClasses {
		return fmt.Errorf("tick of unknown class %d", t.Class)
	}
	if len(t.Blocks) > maxBlocks {
		return fmt.Errorf("tick of class %s has %d blocks, more than %d", t.Class, len(t.Blocks), maxBlocks)
	}
	total := 0
	for _, b := range t.Blocks {
		n, err := checkBlock(b)
		if err != nil {
			return err
		}
		if total += n; total > maxTexts {
			return fmt.Errorf("tick of class %s has more than %d bytes of text", t.Class, maxTexts)
		}
	}
	return nil
}

// checkBlock refuses a malformed block, and counts the bytes of text in it.
func checkBlock(b *metric.Block) (texts int, err error) {
	g := b.Group
	if len(b.Cols) != len(g.Metrics) || len(g.Metrics) > maxColumns || len(b.Rows) > maxRows {
		return 0, fmt.Errorf("group %s: %d columns for %d metrics and %d rows", g.Name, len(b.Cols), len(g.Metrics), len(b.Rows))
	}
	if g.Indom == metric.NoIndom {
		if len(b.Rows) > 1 || len(b.Rows) == 1 && b.Rows[0] != nil {
			return 0, fmt.Errorf("group %s has no instance domain but instances", g.Name)
		}
	} else if texts, err = checkRows(b); err != nil {
		return 0, err
	}
	for j := range b.Cols {
		c, d := &b.Cols[j], g.Metrics[j]
		n := len(c.Bits)
		if d.Type == metric.String {
			for i := range c.Bits {
				s := c.Word(i)
				texts += len(s)
				if len(s) > maxText {
					return 0, fmt.Errorf("a value of %s has %d bytes, more than %d", d.Name, len(s), maxText)
				}
			}
		}
		if n != len(b.Rows) || len(c.Miss) != 0 && len(c.Miss) != n {
			return 0, fmt.Errorf("group %s: column %s has %d values for %d rows", g.Name, d.Name, n, len(b.Rows))
		}
	}
	return texts, nil
}

func checkRows(b *metric.Block) (texts int, err error) {
	for _, in := range b.Rows {
		if in == nil {
			return 0, fmt.Errorf("group %s: a row without instance", b.Group.Name)
		}
		n := len(in.Key) + len(in.Name)
		for _, l := range in.Labels {
			n += len(l.Name) + len(l.Value)
		}
		if n > maxText || len(in.Labels) > maxLabels {
			return 0, fmt.Errorf("group %s: an instance with %d labels and %d bytes of text", b.Group.Name, len(in.Labels), n)
		}
		texts += n
	}
	return texts, nil
}

// checkEvent refuses an event that cannot be coded.
func checkEvent(e *metric.Event) error {
	n := len(e.Kind) + len(e.Text) + len(e.Indom) + len(e.Key)
	for _, l := range e.Labels {
		n += len(l.Name) + len(l.Value)
	}
	if len(e.Labels) > maxLabels || n > maxText {
		return fmt.Errorf("event %q with %d labels and %d bytes of text", e.Kind, len(e.Labels), n)
	}
	return nil
}
