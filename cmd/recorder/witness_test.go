package main

import (
	"bytes"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

// network is an interface that counts a thousand packets from one reading to the next,
// and so many bytes with each.
type network struct {
	group metric.Group
	bytes uint64
	reads uint64
}

func newNetwork(bytes uint64) *network {
	n := &network{group: metric.Group{Name: "network", Indom: "interface"}, bytes: bytes}
	for _, name := range []string{"network.interface.in.packets", "network.interface.in.bytes"} {
		n.group.Metrics = append(n.group.Metrics, catalog.Find(platform.Catalog, name))
	}
	return n
}

func (n *network) Name() string            { return "network" }
func (n *network) Groups() []*metric.Group { return []*metric.Group{&n.group} }
func (n *network) Refresh() error          { return nil }
func (n *network) Close() error            { return nil }
func (n *network) Read(c *sample.Context, frames []*sample.Frame) error {
	n.reads++
	for _, f := range frames {
		f.Reset(c.Now())
		row := f.Row(&metric.Instance{ID: 1, Key: "en0", Name: "en0"})
		f.SetUint(row, 0, 1000*n.reads)
		f.SetUint(row, 1, 1000*n.reads*n.bytes)
	}
	return nil
}

// check --witness answers no if two sources contradict each other, and says which metrics
// are concerned and why the others cannot be compared.
func TestCheckWitness(t *testing.T) {
	for _, c := range []struct {
		bytes  uint64
		status int
		says   string
	}{{500, cli.Yes, "agrees"}, {0, cli.No, "disagrees"}} {
		var o, e bytes.Buffer
		a := &app{out: &o, err: &e, now: platform.Now, catalog: platformCatalog, sources: func(platform.Options) ([]sample.Source, error) {
			return []sample.Source{newNetwork(c.bytes)}, nil
		}}
		status := a.run([]string{"check", "--witness", "--wait", "1ms"})
		if status != c.status {
			t.Errorf("%d bytes a packet: status %d: %s", c.bytes, status, e.String())
		}
		found := false
		for line := range strings.Lines(o.String()) {
			pair, rest, _ := strings.Cut(line, "  ")
			switch {
			case pair == "interface: packets, bytes in [en0]":
				found = true
				if !strings.HasPrefix(strings.TrimSpace(rest), c.says) {
					t.Errorf("%d bytes a packet: %s", c.bytes, line)
				}
			case pair != "PAIR" && !strings.Contains(line, "cannot be compared") || strings.HasSuffix(strings.TrimSpace(line), "-"):
				t.Errorf("a machine with one interface: %s", line)
			}
		}
		if !found {
			t.Errorf("%d bytes a packet: nothing is said of it:\n%s", c.bytes, o.String())
		}
	}
	for _, args := range [][]string{{"check", "--witness", "--wait", "0s"}, {"check", "--wait", "2s"}} {
		var o, e bytes.Buffer
		a := &app{out: &o, err: &e, now: platform.Now, catalog: platformCatalog}
		if status := a.run(args); status != cli.Failed || !strings.Contains(e.String(), "--wait") {
			t.Errorf("%s: status %d: %s", args, status, e.String())
		}
	}
}
