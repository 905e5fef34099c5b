package pcpclient

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// Everything that PCP's tools ask, asked of the real pmcd over TCP and its unix socket.
func TestRealPmcd(t *testing.T) {
	d := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{pmcdtest.PMCD, pmcdtest.Sample}, For: []string{"sample.colour"},
		Names: []string{"root { sample }\nsample { colour 29:0:5 milliseconds 29:0:3 none 29:3000:1 }\n"},
	})
	for network, address := range map[string]string{"tcp": d.TCP, "unix": strings.TrimPrefix(d.Host, "local:")} {
		t.Run(network, func(t *testing.T) {
			c, err := Dial(context.Background(), network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if want := pdu.FeatureLabels | pdu.FeatureHighres | pdu.FeatureDescs; c.Features&want != want {
				t.Errorf("it offers %x", c.Features)
			}
			names, err := c.Traverse("sample")
			slices.Sort(names)
			if want := []string{"sample.colour", "sample.milliseconds", "sample.none"}; err != nil || !slices.Equal(names, want) {
				t.Errorf("its names are %q, %v", names, err)
			}
			below, branches, err := c.Children("")
			if err != nil || !slices.Equal(below, []string{"sample"}) || !branches[0] {
				t.Errorf("the root has %q, %v, %v", below, branches, err)
			}
			if err := c.Want(0); err != nil {
				t.Fatal(err)
			}
			list, err := c.Read("sample.colour", "sample.milliseconds")
			if err != nil {
				t.Fatal(err)
			}
			if v := list[0].Values; len(v) != 3 || v[1].Instance != "green" || v[1].Type != metric.I32 || v[1].Bits < 200 {
				t.Errorf("colours are %+v", list[0])
			}
			if v := list[1].Values; len(v) != 1 || v[0].ID != pcp.Null || !(v[0].Number() > 0) {
				t.Errorf("milliseconds are %+v", list[1])
			}
			ids, err := c.IDs("sample.colour", "sample.nowhere", "sample.milliseconds")
			if err != nil || ids[1] != pcp.Null {
				t.Errorf("numbers are %v, %v", ids, err)
			}
			if back, err := c.Names(ids[2]); err != nil || !slices.Equal(back, []string{"sample.milliseconds"}) {
				t.Errorf("%v is %q, %v", ids[2], back, err)
			}
			if _, err := c.IDs("sample.nowhere"); !errors.Is(err, pdu.Failure(pcp.ErrName)) {
				t.Errorf("nowhere: %v", err)
			}
			if _, err := c.IDs("sample"); !errors.Is(err, pdu.Failure(pcp.ErrNonLeaf)) {
				t.Errorf("a branch: %v", err)
			}
			descs, err := c.Descs(ids[0], metric.NewPMID(29, 3000, 1))
			if err != nil || descs[0].Type != pcp.I32 || descs[1].PMID != pcp.Null {
				t.Errorf("they are %+v, %v", descs, err)
			}
			if err := c.Want(descs[0].InDom, 2); err != nil {
				t.Fatal(err)
			}
			r, err := c.Fetch(ids[0])
			if err != nil || !slices.Equal(r.Sets[0].Instances, []uint32{2}) || r.Seconds == 0 {
				t.Errorf("blue alone is %+v, %v", r, err)
			}
			labels, err := c.Labels(pcp.Null, pcp.LabelContext)
			if err != nil || !slices.ContainsFunc(labels[pcp.Null], func(l metric.Label) bool { return l.Name == "hostname" }) {
				t.Errorf("labels are %v, %v", labels, err)
			}
		})
	}
}
