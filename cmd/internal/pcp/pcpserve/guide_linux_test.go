package pcpserve_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
)

// guided has one metric, whose values are those of the worked example of semantics in
// PCP's guide to writing agents: one each two seconds, and then none.
type guided struct {
	catalog pcpserve.Catalog
	group   *metric.Group
	read    int
}

var (
	guideValues = []uint64{10, 30, 60, 80, 90}
	guideStart  = metric.Stamp{Wall: 1_700_000_001e9}
)

func newGuided(sem metric.Semantics) *guided {
	d := &metric.Desc{Name: "guide.value", PMID: metric.NewPMID(500, 1, 0), Type: metric.U64, Sem: sem, Units: metric.Counts, Help: "A worked example"}
	g := &metric.Group{Name: "guide", Metrics: []*metric.Desc{d}}
	return &guided{catalog: pcpserve.Catalog{Descs: g.Metrics, Host: metric.Host{Name: "guide"}}, group: g}
}

func (g *guided) Catalog() *pcpserve.Catalog { return &g.catalog }

func (g *guided) Instances(context.Context, string) ([]*metric.Instance, error) { return nil, nil }

func (g *guided) Fetch(_ context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	at := guideStart
	at.Wall += int64(g.read) * int64(2*time.Second)
	view := &pcpserve.View{At: at}
	if g.read < len(guideValues) {
		view.Blocks = []*metric.Block{{Group: g.group, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: guideValues[g.read : g.read+1]}}}}
	} else {
		view.Missing = map[*metric.Desc]metric.Reason{g.group.Metrics[0]: metric.NotRead}
	}
	g.read++
	return view, nil
}

// TestTheGuidesSemantics has pmval show the worked example, at the times that its values
// are of, for each semantics. The guide takes the last discrete value to persist where there
// is none; pmval shows a machine that is there as it is: none.
func TestTheGuidesSemantics(t *testing.T) {
	pmcdtest.Need(t, "pmval")
	for _, c := range []struct {
		sem  metric.Semantics
		want string
	}{
		{metric.Counter, "10 15 10 5 - -"},
		{metric.Instant, "10 30 60 80 90 -"},
		{metric.Discrete, "10 30 60 80 90 -"},
	} {
		t.Run(c.sem.String(), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- pcpserve.NewServer(newGuided(c.sem), pcpserve.Options{}).Clients(ctx, l) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			cmd := exec.Command("pmval", "-h", "127.0.0.1:"+port, "-Z", "UTC", "-t", "10msec", "-s", fmt.Sprint(len(guideValues)+1), "guide.value")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("pmval: %v\n%s", err, out)
			}
			var got []string
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "Missing metric value(s)") {
					got = append(got, "-")
				} else if v, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
					got = append(got, fmt.Sprint(v))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("pmval shows %s, and not %s:\n%s", s, c.want, out)
			}
		})
	}
}
