package pcpserve

import (
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A metric that PCP has under two names has both in a domain that is kept: each leads to
// the one number, which is answered once, and which names them.
func TestFurtherNames(t *testing.T) {
	m := newMachine()
	second := *faults
	second.Name = "proc.psinfo.majflt"
	cat := *m.Catalog()
	cat.Descs = append(slices.Clone(cat.Descs), &second)
	m.cat.Store(&cat)
	c := agentOf(t, NewServer(m, Options{Names: pcp.Native(500), AllAccess: true}), 3)
	for _, name := range []string{faults.Name, second.Name} {
		if ids, err := c.IDs(name); err != nil || ids[0] != faults.PMID {
			t.Errorf("%s is %v: %v", name, ids, err)
		}
	}
	if names, err := c.Names(faults.PMID); err != nil || !slices.Equal(names, []string{faults.Name, second.Name}) {
		t.Errorf("the number has the names %q: %v", names, err)
	}
	if names, err := c.Traverse("proc.psinfo"); err != nil || len(names) != 3 {
		t.Errorf("there are %q: %v", names, err)
	}
	r, err := c.Fetch(faults.PMID, metric.NewPMID(3, 1, 30))
	if err != nil || len(r.Sets) != 2 || len(r.Sets[0].Instances) != 2 {
		t.Errorf("answered with %+v: %v", r, err)
	}
}
