package pcpserve

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// Whatever is asked gets at most one answer, of the kind that belongs to it, which can be
// sent and read; a result has the sets that were asked for.
func FuzzAnswer(f *testing.F) {
	for _, m := range []pdu.Message{
		&pdu.Fetch{PMIDs: []metric.PMID{free.PMID, argv.PMID, 5}}, &pdu.Fetch{PMIDs: []metric.PMID{load.PMID}, Highres: true},
		&pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: 78 << 22, Instances: []uint32{1, 5}}}}, &pdu.DescReq{PMID: free.PMID},
		&pdu.DescIDs{PMIDs: []metric.PMID{free.PMID, 7}}, &pdu.InstanceReq{InDom: 78 << 22, Instance: pcp.Null}, &pdu.InstanceReq{InDom: 78 << 22, Name: "5"},
		&pdu.TextReq{Ident: uint32(load.PMID), Type: pdu.TextPMID | pdu.TextHelp}, &pdu.LabelReq{Ident: 3<<22 | 9, Type: pcp.LabelInstances},
		&pdu.Names{Names: []string{"mem.free", "mem"}}, &pdu.IDs{PMIDs: []metric.PMID{free.PMID}}, &pdu.Children{Name: "proc", Statuses: true}, &pdu.Traverse{},
		&pdu.Result{Sets: []pdu.Set{{PMID: limit.PMID, Type: pcp.I32, Instances: []uint32{pcp.Null}, Bits: []uint64{3}}}},
		&pdu.Attr{Attribute: pdu.AttrUserID, Value: "1000"}, &pdu.Error{Code: pcp.ErrNotConn},
	} {
		f.Add(pdu.Append(nil, 1, m), true)
		f.Add(pdu.Append(nil, 1, m), false)
	}
	s := NewServer(newMachine(), Options{Names: pcp.Native(500)})
	tools := NewServer(newMachine(), Options{AllAccess: true})
	f.Fuzz(func(t *testing.T, b []byte, agent bool) {
		from, m, err := pdu.Parse(b)
		if err != nil {
			return
		}
		c := tools.session(0)
		if agent {
			c = s.session(78)
		}
		for range 2 {
			answer := c.answer(t.Context(), from, m)
			if (answer != nil) != wantsAnswer(m.Kind()) {
				t.Fatalf("%T is answered with %T", m, answer)
			}
			if answer == nil {
				continue
			}
			_, back, err := pdu.Parse(pdu.Append(nil, 0, answer))
			if err != nil {
				t.Fatalf("the answer to %+v, %+v, cannot be read: %v", m, answer, err)
			}
			if r, ok := back.(*pdu.Result); ok && len(r.Sets) != len(m.(*pdu.Fetch).PMIDs) {
				t.Fatalf("%d sets for %d metrics", len(r.Sets), len(m.(*pdu.Fetch).PMIDs))
			}
		}
	})
}
