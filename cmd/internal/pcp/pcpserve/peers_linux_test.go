package pcpserve

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

const nameSpace = `root { kernel filesys mem proc nowhere tachograph 500:*:* }
kernel { all }
kernel.all { load 78:3:0 }
filesys { used 78:5:2 }
mem { free 78:1:2 }
proc { psinfo }
proc.psinfo { psargs 3:1:30 maj_flt 3:1:9 }
nowhere { x 78:77:7 }
`

// serveUnix has an agent listen for pmcd.
func serveUnix(t *testing.T, s *Server, domain uint32) string {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.Agent(t.Context(), conn, domain)
		}
	}()
	return path
}

// A real pmcd has three agents of one machine, and PCP's programs are told everything
// through it.
func TestPmcd(t *testing.T) {
	pmcdtest.Need(t, "pminfo", "pmval", "pmstore")
	m := newMachine()
	s := NewServer(m, Options{Names: pcp.Native(500)})
	var agents []pmcdtest.Agent
	for name, domain := range map[string]int{"tacho": 500, "tproc": 3, "darwin": 78} {
		agents = append(agents, pmcdtest.Agent{Name: name, Domain: domain, How: "socket unix " + serveUnix(t, s, uint32(domain))})
	}
	d := pmcdtest.Start(t, pmcdtest.Config{Agents: agents, Names: []string{nameSpace}, For: []string{"mem.free"}})
	look := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q is not in\n%s", w, out)
			}
		}
	}
	look(d.Run(t, "pminfo", "-dfmtTl", "mem", "proc", "kernel", "filesys", "tachograph"),
		"mem.free PMID: 78.1.2 [Free memory]", "Data Type: 64-bit unsigned int", "value 1099511627776", `labels {"agent":"tachograph","class":"static"`,
		`inst [1 or "1 minute"] value 0.5`, `inst [9 or "000009 vi"] value "vi secret"`, `inst [9 or "000009 vi"] labels`, `"identity":"9/102"`,
		"tachograph.vm.limit PMID: 500.2.3", "value -5", "How many wait.", "Semantics: counter  Units: count", `or "/Volumes/My_Disk"] value 2`,
		"tachograph.control.filter PMID: 500.4095.9", `value "all"`, "tachograph.nfs.calls")
	look(d.Run(t, "pmval", "-s", "1", "-i", "000007", "proc.psinfo.psargs"), "sh -c a")

	// Pmcd tells who asks: by its unix socket the kernel says so, over TCP nobody does.
	over, err := exec.Command("pminfo", "-h", d.TCP, "-f", "proc.psinfo.psargs").CombinedOutput()
	if look(string(over), "No permission"); err == nil && strings.Contains(string(over), "secret") {
		t.Errorf("over TCP everybody is told %s", over)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(d.Dir, 0o755), os.Chmod(filepath.Join(d.Dir, "pmcd.socket"), 0o777)); err != nil {
			t.Fatal(err)
		}
		owner := d.Command("pminfo", "-f", "proc.psinfo.psargs")
		owner.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		out, _ := owner.CombinedOutput()
		if look(string(out), `"000007 sh"] value "sh -c a"`, "vi secret"); strings.Contains(string(out), "sh -c b") {
			t.Errorf("user 1000 is told of root's: %s", out)
		}
	}

	// What has changed pmcd passes on to those who are there.
	tool, err := pcpclient.Dial(t.Context(), "unix", filepath.Join(d.Dir, "pmcd.socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	fetch := func(want int32) {
		t.Helper()
		tool.Changes = 0
		if r, err := tool.Fetch(free.PMID); err != nil || len(r.Sets[0].Bits) != 1 || tool.Changes != want {
			t.Errorf("%+v, %v; changed is %d, want %d", r, err, tool.Changes, want)
		}
	}
	tool.Want(pcp.Null)
	fetch(0)
	cat := *m.Catalog()
	cat.Descs, cat.Host.Name = cat.Descs[1:], "maxi"
	m.cat.Store(&cat)
	fetch(pdu.NamesChanged | pdu.LabelsChanged)
	fetch(0)
	look(d.Run(t, "pmstore", "tachograph.control.filter", "vi"), `old value="all"`)
	if len(m.stored) != 1 {
		t.Errorf("stored: %v", m.stored)
	}
}

// The same without pmcd.
func TestTools(t *testing.T) {
	pmcdtest.Need(t, "pminfo", "pmval", "pmlogger", "pmlogcheck")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- NewServer(newMachine(), Options{AllAccess: true}).Clients(ctx, l) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	out, err := exec.Command("pminfo", "-h", l.Addr().String(), "-dfmtTl").CombinedOutput()
	if err != nil {
		t.Errorf("pminfo: %v", err)
	}
	for _, w := range []string{
		"mem.free PMID: 78.1.2 [Free memory]", `"hostname":"mini"`, `inst [8 or "000008 sh"] value "sh -c b"`, "vm.limit PMID: 500.2.3", "value -5", "How many wait.",
		"fan.speed PMID: 500.6.1", "nfs.calls PMID: 60.7.4",
	} {
		if !strings.Contains(string(out), w) {
			t.Errorf("%q is not in\n%s", w, out)
		}
	}
	out, err = exec.Command("pmval", "-h", l.Addr().String(), "-s", "1", "-i", "5", "kernel.all.load").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1.0") {
		t.Errorf("pmval: %v\n%s", err, out)
	}
}
