package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/testdata/patience"
)

// agent starts recorder pmda, which answers when it says one of the words in its log.
func agent(t *testing.T, word string, args ...string) *process {
	t.Helper()
	p := launch(t, command(append([]string{"pmda"}, args...)...))
	p.await("it says "+word, func() bool { return strings.Contains(p.said(), word) })
	return p
}

// shortDir is a directory whose name leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// addressIn is where a process says that it listens by TCP.
func addressIn(t *testing.T, p *process) string {
	t.Helper()
	m := regexp.MustCompile(`at=tcp:(\S+)`).FindStringSubmatch(p.said())
	if m == nil {
		t.Fatal(p.said())
	}
	return m[1]
}

// names is the name space of an agent that names its metrics itself.
const dynamicNames = "root { tachograph 500:*:* }\n"

// The file of its socket is pmcd's to remove when it has lost the agent, and it does so
// when the next one is there already.
func TestPmdaSocket(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	path := filepath.Join(dir, "s")
	p := agent(t, "waiting for pmcd", "--socket", "unix:"+path, "--socket-mode", "0600")
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("its mode: %v %v", info, err)
	}
	d := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{pmcdtest.PMCD, {Name: "tachograph", Domain: 500, How: "socket unix " + path}},
		Names:  []string{dynamicNames}, For: []string{"tachograph.hinv.ncpu"},
	})
	answers := func() bool {
		out, err := d.Try("pminfo", "-f", "tachograph.hinv.ncpu")
		return err == nil && strings.Contains(out, "value ")
	}
	p.cmd.Process.Kill()
	<-p.done
	next := agent(t, "waiting for pmcd", "--socket", "unix:"+path) // takes the place of the file that stayed
	d.Until(t, "pmcd has noticed", func() bool { return !answers() })
	// Pmcd tries once for each signal: one that comes before the file is there again, which
	// the file that pmcd has yet to remove looks like, would be lost.
	next.await("the file was taken away and is there again", func() bool {
		return strings.Contains(next.said(), "the file of the socket was taken away; it is there again")
	})
	d.Reload(t)
	d.Until(t, "the next one answers", answers)
	// Pmcd restarted: the agent stays.
	d.Stop()
	d.Until(t, "the file is there for the next one", func() bool { _, err := os.Lstat(path); return err == nil })
	d.Launch(t)
	d.Until(t, "it answers the next pmcd", answers)
	next.cmd.Process.Signal(syscall.SIGTERM)
	<-next.done
	if code := next.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("status %d: %s", code, next.said())
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("its socket is still there")
	}
}

// A Mac's three domains are three sockets of one process.
func TestPmdaDomains(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	var args []string
	for _, domain := range []string{"500", "78", "3"} {
		args = append(args, "--socket", domain+"=unix:"+filepath.Join(dir, domain))
	}
	agent(t, "domain=3", append(args, "--native")...)
	for domain, name := range map[string]string{"500": "tachograph.disk.dev.flush", "78": "hinv.ncpu", "3": "proc.nprocs"} {
		var conn net.Conn
		patience.Until(t, "domain "+domain+" answers", func() (ok bool) {
			var err error
			conn, err = net.Dial("unix", filepath.Join(dir, domain))
			return err == nil
		})
		c, err := pcpclient.Pmcd(conn)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.IDs(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _, _ := ids[0].Parts(); fmt.Sprint(got) != domain {
			t.Errorf("%s is in domain %d, want %s", name, got, domain)
		}
		r, err := c.Fetch(ids...)
		if err != nil || r.Sets[0].Err != 0 || len(r.Sets[0].Instances) == 0 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		conn.Close()
	}
}

// Who connects and says nothing is let go, and so is who comes after too many others.
func TestPmdaIdlers(t *testing.T) {
	t.Parallel()
	p := agent(t, "waiting for pmcd", "--socket", "tcp:127.0.0.1:0")
	var idle []net.Conn
	for range mostPmcds + 1 {
		c, err := net.Dial("tcp", addressIn(t, p))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	p.await("there is one too many", func() bool { return strings.Contains(p.said(), "refused a connection: there are too many") })
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := elsewhere.Dial("tcp", addressIn(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := pcpclient.Pmcd(c); err != nil {
		t.Errorf("one address has taken the share of another: %v", err)
	}
	for _, c := range idle {
		c.Close()
	}
	p.await("there is room for pmcd", func() bool {
		conn, err := net.Dial("tcp", addressIn(t, p))
		if err != nil {
			return false
		}
		defer conn.Close()
		c, err := pcpclient.Pmcd(conn)
		if err != nil {
			return false
		}
		_, err = c.IDs("tachograph.hinv.ncpu")
		return err == nil
	})
}

// Every kind of question that PCP's debugger of agents can ask.
func TestPmdaByDbpmda(t *testing.T) {
	t.Parallel()
	pmcdtest.Need(t, "dbpmda")
	dir := t.TempDir()
	names := filepath.Join(dir, "pmns")
	if err := os.WriteFile(names, []byte(dynamicNames), 0o644); err != nil {
		t.Fatal(err)
	}
	debug := func(script string) string {
		t.Helper()
		cmd := exec.Command("dbpmda", "-n", names, "-ef")
		cmd.Env = append(os.Environ(), "TACHOGRAPH_TEST_RECORDER=1", "PATH=/usr/bin:"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader("open pipe " + os.Args[0] + " pmda\n" + script + "close\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	found := regexp.MustCompile(`PMID: (\S+)\s+Data Type: float  InDom: (\S+)`).FindStringSubmatch(debug("desc tachograph.kernel.all.load\n"))
	if found == nil {
		t.Fatal("tachograph.kernel.all.load is not described")
	}
	r := strings.NewReplacer("LOAD", found[1], "INDOM", found[2], "CLUSTER", found[1][:strings.LastIndexByte(found[1], '.')])
	got := debug(r.Replace(`attr 11 "0"
status
pmid tachograph.kernel.all.load
name LOAD
children tachograph.kernel.all
traverse tachograph.kernel.all.load
desc 500.1.1023
instance INDOM
instance INDOM 5
instance INDOM "15 minute"
text tachograph.kernel.all.load
text indom INDOM
label context
label indom INDOM
label cluster CLUSTER
label item LOAD
label instances INDOM
profile INDOM none
profile INDOM add 5
fetch tachograph.kernel.all.load tachograph.hinv.ncpu
fetch 500.1.1023
store tachograph.hinv.ncpu "7"
store tachograph.proc.control.all.threads "0"
`))
	for _, want := range []string{
		"attr 11 \"0\"\nAttribute: userid=0\nSuccess\n", "Metric: tachograph.kernel.all.load\n   LOAD\n", "PMID: LOAD\n   tachograph.kernel.all.load\n",
		"   non-leaf cpu\n", "       leaf load\n", "PMID: 500.1.1023\nError PDU: Unknown or illegal metric identifier\n",
		"[  0] inst: 1 name: \"1 minute\"\n[  1] inst: 5 name: \"5 minute\"\n[  2] inst: 15 name: \"15 minute\"\n",
		"pmInDom: INDOM\n[  0] name: \"5 minute\"\n", "pmInDom: INDOM\n[  0] inst: 15\n", "averaged over 1, 5 and 15 minutes]\n",
		"    platform=\"linux\"\n", "    class=\"fast\"\n", "numval: 1 valfmt: 1 vlist[]:\n    inst [5 or ???] value ",
		"  500.1.1023 (<noname>): Unknown or illegal metric identifier\n", "Error PDU: No permission to perform requested operation\n",
		"Sending Result...\nclose\n",
	} {
		if want = r.Replace(want); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
			break // one says it all
		}
	}
}

// An archive is read by PCP's tools as if its machine were there, and by pmcd.
func TestPmdaPlaysBack(t *testing.T) {
	t.Parallel()
	pmcdtest.Need(t, "pminfo", "pmval")
	archive := t.TempDir()
	rec := start(t, archive, configFile(t, often))
	dir := shortDir(t)
	path := filepath.Join(dir, "s")
	// What is being recorded is played as well, and on as it comes.
	live := agent(t, "PCP's tools may connect", "--archive", archive, "--from", "now", "--listen", "tcp:127.0.0.1:0")
	ask := func(host string, args ...string) string {
		cmd := exec.Command("pminfo", append([]string{"-h", host}, args...)...)
		cmd.Env = append(os.Environ(), "PATH=/usr/bin:"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			return err.Error() + string(out)
		}
		return string(out)
	}
	seen := make(map[string]bool)
	live.await("three readings have come", func() bool {
		if out := ask(addressIn(t, live), "-f", "kernel.all.cpu.user"); strings.Contains(out, "value ") {
			seen[out] = true
		}
		return len(seen) >= 3
	})
	rec.cmd.Process.Signal(syscall.SIGTERM)
	<-rec.done
	again := agent(t, "PCP's tools may connect", "--archive", archive, "--loop", "--listen", "unix:"+path)
	// Between two rounds there is nothing.
	all := ""
	again.await("the load has values", func() bool {
		all = ask("local:"+path, "-fdmtT")
		return strings.Contains(all, "inst [1 or \"1 minute\"] value ")
	})
	for _, want := range []string{"\nkernel.all.load PMID: ", "\nhinv.ncpu PMID: ", "\npmcd.hostname PMID: 2.0.21 "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in what pminfo says:\n%s", want, all[:min(500, len(all))])
		}
	}
	again.await("it is in its second round", func() bool { return strings.Contains(again.said(), "the recording is over") })
	again.await("there are values in it", func() bool { return strings.Contains(ask("local:"+path, "-f", "hinv.ncpu"), "value ") })
	d := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{pmcdtest.PMCD, {Name: "past", Domain: 501, How: "pipe binary " + os.Args[0] + " pmda -d 501 --archive " + archive + " --prefix past --speed 0"}},
		Names:  []string{"root { past 501:*:* }\n"}, For: []string{"past.hinv.ncpu"}, Env: []string{"TACHOGRAPH_TEST_RECORDER=1"},
	})
	if out := d.Run(t, "pminfo", "-f", "past.kernel.all.load"); !strings.Contains(out, "15 minute") {
		t.Errorf("pmcd tells of the archive:\n%s", out)
	}
}
