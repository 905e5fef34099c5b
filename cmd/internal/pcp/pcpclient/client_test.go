package pcpclient

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// PCP's own agent for tests, which everybody has who has PCP.
const sample = "/usr/lib/pcp/pmdas/sample/pmdasample"

const sampleDomain = 29

// agent starts it, in a directory that is not PCP's.
func agent(t *testing.T) *Client {
	t.Helper()
	if _, err := os.Stat(sample); err != nil {
		t.Skip(pmcdtest.Missing)
	}
	dir := t.TempDir()
	cmd := exec.Command(sample, "-d", "29", "-U", pmcdtest.Me(), "-l", filepath.Join(dir, "log"))
	cmd.Env = append(os.Environ(), "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PCP_RUN_DIR="+dir)
	cmd.Dir = dir
	c, err := Command(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Everything that pmcd asks, asked of an agent that was made by others.
func TestPCPsAgent(t *testing.T) {
	c := agent(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if c.Features&pdu.FeatureAuth == 0 {
		t.Errorf("it wants %x, and not what clients are", c.Features)
	}
	c.Context = 4
	check(c.End())
	check(c.Attr(pdu.AttrUserID, "0"))
	colour := metric.NewPMID(sampleDomain, 0, 5)
	check(c.Want(0))
	d, err := c.Desc(colour)
	check(err)
	if d.Type != pcp.I32 || d.InDom == pcp.Null {
		t.Errorf("sample.colour is %+v", d)
	}
	list, err := c.Instances(d.InDom)
	check(err)
	if want := []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"}, {ID: 2, Name: "blue"}}; !slices.Equal(list, want) {
		t.Errorf("its instances are %v", list)
	}
	name, err := c.InstanceName(d.InDom, 1)
	check(err)
	id, err := c.InstanceID(d.InDom, "blue")
	check(err)
	if name != "green" || id != 2 {
		t.Errorf("1 is %s, and blue %d", name, id)
	}
	text, err := c.Text(uint32(colour), pdu.TextPMID|pdu.TextOneLine)
	if err != nil && !errors.Is(err, pdu.Failure(pcp.ErrText)) {
		t.Errorf("%s, %v", text, err)
	}
	unknown := metric.NewPMID(sampleDomain, 3000, 1)
	r, err := c.Fetch(colour, unknown)
	check(err)
	if s := r.Sets[0]; len(s.Bits) != 3 || s.Bits[0] < 100 || s.Bits[2] < 300 {
		t.Errorf("colours are %+v", s)
	}
	if s := r.Sets[1]; len(s.Instances) > 0 || s.PMID != unknown {
		t.Errorf("what is not is %+v", s)
	}
	labels, err := c.Labels(sampleDomain, pcp.LabelDomain)
	check(err)
	if !slices.Contains(labels[pcp.Null], metric.Label{Name: "role", Value: "testing"}) {
		t.Errorf("labels are %v", labels)
	}
	names, err := c.Traverse("sample.secret")
	check(err)
	if !slices.Contains(names, "sample.secret.foo.bar.max.redirect") {
		t.Errorf("its dynamic names are %q", names)
	}
	ids, err := c.IDs("sample.secret.bar")
	check(err)
	back, err := c.Names(ids[0])
	check(err)
	if !slices.Equal(back, []string{"sample.secret.bar"}) {
		t.Errorf("%v is %q", ids[0], back)
	}
	if _, _, err := c.Children("sample.secret.foo"); err != nil {
		t.Error(err)
	}
	long := metric.NewPMID(sampleDomain, 0, 36) // sample.write_me
	check(c.Store(pdu.Set{PMID: long, Type: pcp.I32, Instances: []uint32{pcp.Null}, Bits: []uint64{99}}))
	if r, err = c.Fetch(long); err != nil || r.Sets[0].Bits[0] != 99 {
		t.Errorf("it was set to 99 and is %+v, %v", r, err)
	}
	if err := c.Store(pdu.Set{PMID: unknown, Type: pcp.I32, Instances: []uint32{0}, Bits: []uint64{1}}); err == nil {
		t.Error("what is not was set")
	}
	if _, err := c.Desc(unknown); !errors.Is(err, pdu.Failure(pcp.ErrPMID)) {
		t.Errorf("what is not: %v", err)
	}
	// Every metric that it has, in one fetch: all types that there are.
	var all []metric.PMID
	for item := range uint32(200) {
		all = append(all, metric.NewPMID(sampleDomain, 0, item))
	}
	if _, err := c.Fetch(all...); err != nil {
		t.Error(err)
	}
}

// What answers otherwise than it was asked is told apart from what fails.
func TestWrongAnswers(t *testing.T) {
	for _, a := range []struct {
		answer pdu.Message
		want   string
	}{
		{&pdu.Error{Code: pcp.ErrAgain}, "not available now"},
		{&pdu.Text{}, "FETCH is answered with TEXT"},
		{&pdu.Result{}, "FETCH of 1 metrics is answered with RESULT of 0"},
		{&pdu.Result{Sets: []pdu.Set{{PMID: 8}}}, "asked for 0.0.7, it gives 0.0.8"},
		{&pdu.Result{Seconds: 1795300000, Sets: []pdu.Set{{PMID: 7}}}, "which pmcd takes for flags"},
	} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			theirs.Write(pdu.Append(nil, 1, &pdu.Creds{Version: pdu.Version}))
			r := pdu.NewReader(theirs, pdu.MaxRequest)
			for {
				_, m, err := r.Next()
				if err != nil {
					return
				}
				if m.Kind() == pdu.KindFetch {
					theirs.Write(pdu.Append(nil, 0, a.answer))
				}
			}
		}()
		c, err := Pmcd(ours)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Fetch(7); err == nil || !strings.Contains(err.Error(), a.want) {
			t.Errorf("%+v: %v, want %q", a.answer, err, a.want)
		}
		c.Close()
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write(pdu.Append(nil, 0, &pdu.Error{Code: pcp.ErrConnLimit}))
			conn.Close()
		}
	}()
	if _, err := Dial(context.Background(), "tcp", l.Addr().String()); !errors.Is(err, pdu.Failure(pcp.ErrConnLimit)) {
		t.Errorf("turned away: %v", err)
	}
	l.Close()
	if _, err := Dial(context.Background(), "tcp", l.Addr().String()); err == nil {
		t.Error("nobody is there")
	}
	if _, err := Command(exec.Command(os.Args[0], "-test.run=^$")); err == nil {
		t.Error("an agent that ends at once is one")
	}
}
