package pcpserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// sets says what a result has, a line a metric.
func sets(r *pdu.Result) string {
	var b strings.Builder
	for _, s := range r.Sets {
		fmt.Fprintf(&b, "%v:", s.PMID)
		if s.Err != 0 {
			fmt.Fprintf(&b, " %d", s.Err)
		}
		for i, id := range s.Instances {
			if id == pcp.Null {
				b.WriteString(" null=")
			} else {
				fmt.Fprintf(&b, " %d=", id)
			}
			if s.Type == pcp.String {
				b.WriteString(s.Words[i])
			} else {
				fmt.Fprintf(&b, "%x", s.Bits[i])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// A fetch has exactly as many sets as were asked for, in that order, whatever is unknown,
// missing or asked for twice; each metric is read once.
func TestFetch(t *testing.T) {
	m := newMachine()
	c := toolOf(t, NewServer(m, Options{AllAccess: true}))
	r, err := c.Fetch(free.PMID, fan.PMID, load.PMID, metric.NewPMID(78, 99, 9), slow.PMID, unread.PMID, faults.PMID, argv.PMID, limit.PMID, free.PMID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "values", sets(r), `
78.1.2: null=10000000000
500.6.1: -12350
78.3.0: 1=3f000000 5=3f800000 15=40000000
78.99.9: -12358
60.7.4: -12389
60.7.5: -12351
3.1.9: 7=b 9=21
3.1.30: 7=sh -c a 8=sh -c b 9=vi secret
500.2.3: null=fffffffb
78.1.2: null=10000000000
`)
	if r.Seconds != 1_700_000_000 || r.Nanoseconds != 123_456_789 || !r.Highres {
		t.Errorf("the time is %d.%d", r.Seconds, r.Nanoseconds)
	}
	if n := len(m.asked[0]); n != 7 {
		t.Errorf("%d were read", n)
	}
}

// Profiles, of a client and of pmcd.
func TestProfile(t *testing.T) {
	for name, c := range map[string]interface {
		Fetch(...metric.PMID) (*pdu.Result, error)
		Want(uint32, ...uint32) error
		Send(pdu.Message) error
	}{
		"tool": toolOf(t, NewServer(newMachine(), Options{})),
		"pmcd": agentOf(t, NewServer(newMachine(), Options{Names: pcp.Native(500)}), 78),
	} {
		ask := func(what, want string) {
			t.Helper()
			r, err := c.Fetch(load.PMID, free.PMID)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, name+", "+what, sets(r), want)
		}
		indom := pcp.NewSpace().Add(load).InDom
		c.Want(indom, 15, 1, 99)
		ask("two and one that is not there", "78.3.0: 1=3f000000 15=40000000\n78.1.2: null=10000000000")
		c.Send(&pdu.Profile{Choice: pdu.Choice{Exclude: true}})
		ask("nothing", "78.3.0:\n78.1.2: null=10000000000")
		c.Send(&pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: indom, Instances: []uint32{5}}}})
		ask("all but one", "78.3.0: 1=3f000000 15=40000000\n78.1.2: null=10000000000")
		c.Want(indom)
		ask("all", "78.3.0: 1=3f000000 5=3f800000 15=40000000\n78.1.2: null=10000000000")
	}
}

// What users do is for root, for who runs the agent, and of an instance for its owner; of
// whom nobody knows who it is, nothing of single processes is for him.
func TestAccess(t *testing.T) {
	s := NewServer(newMachine(), Options{Names: pcp.Native(500)})
	s.self = 501
	c := agentOf(t, s, 3)
	for _, x := range []struct{ uid, want, labels string }{
		{"", "3.1.30: -12387\n3.1.9: -12387", ""},
		{"0", "3.1.30: 7=sh -c a 8=sh -c b 9=vi secret\n3.1.9: 7=b 9=21", "/bin/sh /bin/sh /bin/vi"},
		{"501", "3.1.30: 7=sh -c a 8=sh -c b 9=vi secret\n3.1.9: 7=b 9=21", "/bin/sh /bin/sh /bin/vi"},
		{"1000", "3.1.30: 7=sh -c a 9=vi secret\n3.1.9: 7=b 9=21", "/bin/sh - /bin/vi"},
		{"77", "3.1.30: -12387\n3.1.9: 7=b 9=21", "- - -"},
		{"x", "3.1.30: -12387\n3.1.9: -12387", ""},
	} {
		c.Context++
		if x.uid != "" {
			c.Attr(pdu.AttrUserID, x.uid)
		}
		r, err := c.Fetch(argv.PMID, faults.PMID)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "user "+x.uid, sets(r), x.want)
		indom := pcp.NewSpace().Add(argv).InDom
		labels, err := c.Labels(indom, pcp.LabelInstances)
		_, named := c.Instances(indom)
		if x.labels == "" {
			for _, err := range []error{err, named} {
				if !errors.Is(err, pdu.Failure(pcp.ErrPermission)) {
					t.Errorf("user %s is told of processes: %v", x.uid, err)
				}
			}
			continue
		}
		if err := errors.Join(err, named); err != nil {
			t.Fatal(err)
		}
		var exes []string
		for _, id := range slices.Sorted(maps.Keys(labels)) {
			in := metric.Instance{Labels: labels[id]}
			exes = append(exes, cmpOr(in.Label("exe"), "-"))
			if in.Label("identity") == "" || in.Label("pid") != strconv.Itoa(int(id)) {
				t.Errorf("labels of %d: %v", id, labels[id])
			}
		}
		equal(t, "labels for "+x.uid, strings.Join(exes, " "), x.labels)
	}
	// A context that has ended is forgotten, whoever has its number next.
	c.Context = 2
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	r, err := c.Fetch(argv.PMID)
	if err != nil || r.Sets[0].Err != pcp.ErrPermission {
		t.Errorf("after the end of root's context: %v, %v", r, err)
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Tools have no user unless somebody knows.
func TestAccessOfTools(t *testing.T) {
	for uid, want := range map[int]int{-1: 0, 0: 3, 1000: 2} {
		s := NewServer(newMachine(), Options{Who: func(net.Conn) (uint32, bool) { return uint32(uid), uid >= 0 }})
		s.self = 501
		c := toolOf(t, s)
		c.Attr(pdu.AttrUserID, "0") // which anybody may say
		r, err := c.Fetch(argv.PMID)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sets[0].Instances) != want {
			t.Errorf("user %d: %s", uid, sets(r))
		}
	}
}

func TestStore(t *testing.T) {
	m := newMachine()
	s := NewServer(m, Options{Names: pcp.Native(500), AllAccess: true})
	s.self = 501
	c := agentOf(t, s, 500)
	null := []uint32{pcp.Null}
	text := pdu.Set{PMID: filter.PMID, Type: pcp.String, Instances: null, Words: []string{"vi"}}
	number := pdu.Set{PMID: limit.PMID, Type: pcp.I32, Instances: null, Bits: []uint64{^uint64(6)}}
	for _, x := range []struct {
		uid  string
		set  pdu.Set
		want error
	}{
		{"1000", text, pdu.Failure(pcp.ErrPermission)},
		{"", text, pdu.Failure(pcp.ErrPermission)},
		{"0", text, nil},
		{"501", number, nil},
		{"0", pdu.Set{PMID: limit.PMID, Type: pcp.String, Instances: null, Words: []string{"x"}}, pdu.Failure(pcp.ErrConv)},
		{"0", pdu.Set{PMID: filter.PMID, Type: pcp.String, Instances: null, Words: []string{"bad"}}, pdu.Failure(pcp.ErrBadStore)},
		{"0", pdu.Set{PMID: 5, Type: pcp.String, Instances: null, Words: []string{"x"}}, pdu.Failure(pcp.ErrPMID)},
	} {
		c.Context++
		c.Attr(pdu.AttrUserID, x.uid)
		if err := c.Store(x.set); !errors.Is(err, x.want) {
			t.Errorf("user %s stores %v: %v, want %v", x.uid, x.set, err, x.want)
		}
	}
	equal(t, "stored", strings.Join(m.stored, " "), "tachograph.control.filter=vi vm.limit=-7")
}

// Names, numbers and what stands below, of everything and of one domain.
func TestNames(t *testing.T) {
	c := toolOf(t, NewServer(newMachine(), Options{}))
	all, err := c.Traverse("")
	equal(t, "all", fmt.Sprint(all, err), "[fan.speed filesys.used kernel.all.load mem.free nfs.calls nfs.other proc.psinfo.maj_flt proc.psinfo.psargs tachograph.control.filter vm.limit] <nil>")
	names, branches, err := c.Children("")
	equal(t, "children", fmt.Sprint(names, branches, err), "[fan filesys kernel mem nfs proc tachograph vm] [true true true true true true true true] <nil>")
	names, branches, err = c.Children("proc.psinfo")
	equal(t, "children", fmt.Sprint(names, branches, err), "[maj_flt psargs] [false false] <nil>")
	ids, err := c.IDs("mem.free", "no.such", "vm.limit")
	equal(t, "ids", fmt.Sprint(ids, err), "[78.1.2 511.4095.1023 500.2.3] <nil>")
	names, err = c.Names(free.PMID)
	equal(t, "names", fmt.Sprint(names, err), "[mem.free] <nil>")
	for what, err := range map[string]error{"no.such": errOf(c.IDs("no.such")), "proc.psinfo": errOf(c.IDs("proc.psinfo")), "traverse": errOf(c.Traverse("no.such"))} {
		if want := pdu.Failure(pcp.ErrName); what == "proc.psinfo" && !errors.Is(err, pdu.Failure(pcp.ErrNonLeaf)) || what != "proc.psinfo" && !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}

	beside := NewServer(newMachine(), Options{Names: pcp.Beside(500)})
	all, err = agentOf(t, beside, 500).Traverse("tachograph.proc")
	equal(t, "beside", fmt.Sprint(all, err), "[tachograph.proc.psinfo.maj_flt tachograph.proc.psinfo.psargs] <nil>")
	native := NewServer(newMachine(), Options{Names: pcp.Native(500)})
	all, err = agentOf(t, native, 500).Traverse("tachograph")
	equal(t, "native", fmt.Sprint(all, err), "[tachograph.control.filter tachograph.fan.speed tachograph.nfs.calls tachograph.nfs.other tachograph.vm.limit] <nil>")
	all, err = agentOf(t, native, 78).Traverse("kernel")
	equal(t, "native", fmt.Sprint(all, err), "[kernel.all.load] <nil>")
	if native.Metric("nfs.calls").PMID != metric.NewPMID(500, 1031, 4) || native.Metric("x") != nil {
		t.Errorf("nfs.calls is %v", native.Metric("nfs.calls"))
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestDescribe(t *testing.T) {
	c := toolOf(t, NewServer(newMachine(), Options{}))
	d, err := c.Desc(free.PMID)
	equal(t, "desc", fmt.Sprintf("%+v %v", *d, err), "{PMID:78.1.2 Type:u64 InDom:4294967295 Semantics:3 Units:268435456} <nil>")
	list, err := c.Descs(load.PMID, 7, faults.PMID)
	equal(t, "descs", fmt.Sprintf("%+v %v", list, err), "[{PMID:78.3.0 Type:float InDom:327155712 Semantics:3 Units:0} {PMID:511.4095.1023 Type:unsupported InDom:4294967295 Semantics:0 Units:0} {PMID:3.1.9 Type:u64 InDom:12582921 Semantics:1 Units:1048576}] <nil>")
	for _, x := range []struct {
		ident, what uint32
		want        string
	}{
		{uint32(load.PMID), pdu.TextPMID | pdu.TextOneLine, "Load"}, {uint32(load.PMID), pdu.TextPMID | pdu.TextHelp, "How many wait."},
		{uint32(free.PMID), pdu.TextPMID | pdu.TextHelp, "Free memory"}, {12582921, pdu.TextInDom | pdu.TextOneLine, "processes, by their ids"},
	} {
		if got, err := c.Text(x.ident, x.what); got != x.want || err != nil {
			t.Errorf("text %d of %x: %q, %v", x.what, x.ident, got, err)
		}
	}
	for _, x := range []struct {
		ident, kind uint32
		want        string
	}{
		{pcp.Null, pcp.LabelContext, "[{hostname mini} {machineid a1} {os Darwin} {recorder 1.2} {cores 8}]"},
		{78, pcp.LabelDomain, "[{agent tachograph}]"}, {uint32(free.PMID), pcp.LabelCluster, "[]"},
		{uint32(free.PMID), pcp.LabelItem, "[{class static} {source vm_stat}]"}, {12582921, pcp.LabelIndom, "[{indom_name process}]"},
	} {
		labels, err := c.Labels(x.ident, x.kind)
		if got := fmt.Sprint(labels[pcp.Null]); got != x.want || err != nil {
			t.Errorf("labels %d of %d: %v, %v", x.kind, x.ident, got, err)
		}
	}
	if _, err := c.Labels(99, pcp.LabelDomain); !errors.Is(err, pdu.Failure(pcp.ErrNoAgent)) {
		t.Errorf("labels of a domain that is not there: %v", err)
	}
	if _, err := c.Desc(5); !errors.Is(err, pdu.Failure(pcp.ErrPMID)) {
		t.Errorf("what is not there: %v", err)
	}
}

// What has changed is told once, before the values: to pmcd as flags in the result.
func TestChanges(t *testing.T) {
	m := newMachine()
	s := NewServer(m, Options{Names: pcp.Native(500)})
	pmcd, tool := agentOf(t, s, 78), toolOf(t, s)
	fetch := func(what string, want int32) {
		t.Helper()
		tool.Changes = 0
		r, err := pmcd.Fetch(free.PMID)
		if err != nil || int32(r.Seconds) != want || r.Nanoseconds != 0 {
			t.Errorf("%s: pmcd is told %v, %v; want %d", what, r, err, want)
		}
		if _, err := tool.Fetch(free.PMID); err != nil || tool.Changes != want {
			t.Errorf("%s: a tool is told %d, %v; want %d", what, tool.Changes, err, want)
		}
	}
	fetch("at first", 0)
	cat := *m.Catalog()
	cat.Descs = slices.Delete(slices.Clone(cat.Descs), 0, 1)
	m.cat.Store(&cat)
	if _, err := pmcd.Desc(free.PMID); err != nil {
		t.Fatal(err)
	}
	fetch("a metric less", pdu.NamesChanged|pdu.LabelsChanged)
	fetch("after that", 0)
	host := cat
	host.Host.Name = "maxi"
	m.cat.Store(&host)
	fetch("another name", pdu.LabelsChanged)
	same := host
	m.cat.Store(&same)
	fetch("the same", 0)
}

// An agent that is not ready says so, but not to a question for names, and says when it is.
func TestNotReady(t *testing.T) {
	ready := make(chan struct{})
	m := newMachine()
	cat := m.cat.Swap(nil)
	c := agentOf(t, NewServer(m, Options{Names: pcp.Native(500), Ready: ready}), 78)
	if _, err := c.Fetch(free.PMID); !errors.Is(err, pdu.Failure(pcp.ErrNotReady)) {
		t.Fatalf("before: %v", err)
	}
	m.cat.Store(cat)
	close(ready)
	if err := c.AwaitReady(); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Fetch(free.PMID); err != nil || len(r.Sets[0].Bits) != 1 || r.Seconds != 0 {
		t.Errorf("after: %v, %v", r, err)
	}
	ready = make(chan struct{})
	c = agentOf(t, NewServer(m, Options{Names: pcp.Native(500), Ready: ready, Announce: true}), 78)
	close(ready)
	if err := c.AwaitReady(); err != nil {
		t.Fatal(err)
	}
}

// A reading that fails or hangs is an error, and the next one is answered.
func TestReadingFails(t *testing.T) {
	m := newMachine()
	m.err = context.DeadlineExceeded
	c := toolOf(t, NewServer(m, Options{}))
	if _, err := c.Fetch(free.PMID); !errors.Is(err, pdu.Failure(pcp.ErrAgain)) {
		t.Errorf("got %v", err)
	}
	r, err := c.Fetch(free.PMID, 5)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "with one that is not there", sets(r), "78.1.2: -12389\n0.0.5: -12358")
}
