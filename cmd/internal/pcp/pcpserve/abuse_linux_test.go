package pcpserve_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// A hundred clients of a real pmcd at once, each of whom wants another process. Half of
// them leave while they are being answered.
func TestHundredClientsOfPmcd(t *testing.T) {
	pmcdtest.Need(t, pmcdtest.Program, "pminfo")
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := pcpserve.NewServer(newMachine(), pcpserve.Options{Names: pcp.Beside(metric.OwnDomain), AllAccess: true})
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = s.Agent(context.Background(), conn, metric.OwnDomain)
			conn.Close()
		}
		done <- err
	}()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	var names strings.Builder
	names.WriteString("root { attack }\nattack {\n")
	for i := range 4 {
		fmt.Fprintf(&names, "\tm%d %d:402:%d\n", i, metric.OwnDomain, i)
	}
	names.WriteString("}\n")
	d := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{{Name: "tachograph", Domain: metric.OwnDomain, How: "socket unix " + path}},
		Names:  []string{names.String()}, For: []string{"attack.m0"},
	})
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 100 { // one after another: pmcd has five wait to be greeted
		c, err := pcpclient.Dial(t.Context(), "tcp", d.TCP)
		if err != nil {
			t.Fatal(err)
		}
		c.Timeout = time.Minute
		all.Go(func() {
			defer c.Close()
			<-start
			for range 3 {
				if err := choosy(c, i); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
			if i%2 == 0 { // who leaves without waiting for what it has asked for
				c.Send(&pdu.Fetch{PMIDs: []metric.PMID{id(402, 0), id(402, 3)}})
			}
		})
	}
	close(start)
	all.Wait()
	if out := d.Run(t, "pminfo", "-f", "attack.m3"); strings.Count(out, "inst [") != processes {
		t.Errorf("afterwards there are %d processes", strings.Count(out, "inst ["))
	}
	d.Stop()
}
