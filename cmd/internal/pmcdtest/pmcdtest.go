// Package pmcdtest starts the real pmcd of Performance Co-Pilot for tests, and runs PCP's
// programs against it.
//
// Each pmcd has its own directory, agents, name space, access rules, port and socket, so
// that many can run at once beside an installed PCP. Tests wait by asking it, never by
// sleeping.
package pmcdtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// Missing is what tests say where PCP is not installed; continuous integration looks for it.
const Missing = "PCP is not installed: nothing was compared with its tools"

// Program is where Debian keeps pmcd.
const Program = "/usr/lib/pcp/bin/pmcd"

// Patience is how long something is waited for that must come, on an idle machine.
const Patience = 30 * time.Second

// An Agent is a line of pmcd.conf.
type Agent struct {
	Name   string
	Domain int
	// How pmcd reaches it: `pipe binary COMMAND`, `socket unix PATH [COMMAND]`,
	// `socket inet PORT [COMMAND]` or `dso ENTRY PATH`.
	How string
}

// PCP's own agents that a test may have beside its own. They stay who the test is: only root
// could become another.
var (
	PMCD   = Agent{"pmcd", 2, "dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so"}
	Proc   = Agent{"proc", 3, "pipe binary /var/lib/pcp/pmdas/proc/pmdaproc -d 3 -U " + Me()}
	Linux  = Agent{"linux", 60, "pipe binary /var/lib/pcp/pmdas/linux/pmdalinux -U " + Me()}
	Sample = Agent{"sample", 29, "pipe binary /var/lib/pcp/pmdas/sample/pmdasample -d 29 -U " + Me()}
)

// Me is the name of the user that the test is.
func Me() string {
	me, err := user.Current()
	if err != nil {
		return strconv.Itoa(os.Getuid()) // who has no name
	}
	return me.Username
}

// Config is what a pmcd is started with.
type Config struct {
	Agents []Agent
	// Names are name spaces as pmns(5) writes them, each with its root; the roots are joined.
	Names []string
	// Access is what follows [access] in pmcd.conf; without it everybody may do everything.
	Access string
	// Flags are pmcd's own, beside those that keep it in its directory.
	Flags []string
	// Env is added to its environment: PCP_RESTART_AGENTS=0, say.
	Env []string
	// For are metrics to be answered before Start returns; without any pmcd itself suffices.
	For []string
}

// A Daemon is a pmcd.
type Daemon struct {
	// Dir is its own directory, which its agents start in.
	Dir string
	// Host is how PCP's programs are told of its unix socket (-h), TCP how of its port.
	Host, TCP string

	config Config
	port   string
	cmd    *exec.Cmd
	gone   chan struct{} // closed when cmd has ended
}

// Need skips a test where one of PCP's programs is missing.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(Missing)
		}
	}
}

// Start starts a pmcd and waits until it answers. It ends with the test.
func Start(t testing.TB, config Config) *Daemon {
	t.Helper()
	Need(t, Program, "pminfo")
	// Not the test's directory, for the path of a socket has 108 bytes.
	dir, err := os.MkdirTemp("", "pmcd")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Dir: dir, Host: "local:" + filepath.Join(dir, "pmcd.socket"), config: config}
	t.Cleanup(func() {
		d.stop(syscall.SIGKILL)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	d.Configure(t, config)
	d.Launch(t)
	return d
}

// Configure writes what the next Launch or Reload reads.
func (d *Daemon) Configure(t testing.TB, config Config) {
	t.Helper()
	d.config = config
	var text strings.Builder
	for _, a := range config.Agents {
		fmt.Fprintf(&text, "%s %d %s\n", a.Name, a.Domain, a.How)
	}
	if config.Access != "" {
		fmt.Fprintf(&text, "\n[access]\n%s\n", config.Access)
	}
	d.write(t, "pmcd.conf", text.String())
	d.write(t, "pmns", Join(config.Names...))
}

func (d *Daemon) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Launch starts pmcd again, which must have ended.
func (d *Daemon) Launch(t testing.TB) {
	t.Helper()
	for try := 1; ; try++ {
		d.choosePort(t)
		_ = os.Remove(filepath.Join(d.Dir, "pmcd.socket")) // which one that was killed leaves
		// pmcd starts an agent once and gives up after three seconds, unless -q says otherwise:
		// a busy machine needs longer.
		args := []string{"-f", "-q", "120", "-A", "-U", Me(), "-i", "127.0.0.1", "-p", d.port, "-s", filepath.Join(d.Dir, "pmcd.socket"),
			"-c", filepath.Join(d.Dir, "pmcd.conf"), "-l", filepath.Join(d.Dir, "pmcd.log"), "-n", filepath.Join(d.Dir, "pmns"), "-x", filepath.Join(d.Dir, "fatal")}
		cmd := exec.Command(Program, append(args, d.config.Flags...)...)
		cmd.Env = append(d.env(), d.config.Env...)
		cmd.Dir = d.Dir // agents write their logs where they stand
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		d.cmd, d.gone = cmd, gone
		go func() { _ = cmd.Wait(); close(gone) }()
		said, err := "", error(nil)
		answers := func() bool {
			if err = d.greets(); err == nil && len(d.config.For) > 0 {
				said, err = d.Try("pminfo", append([]string{"-f"}, d.config.For...)...)
			}
			return err == nil && !strings.Contains(said, "Error:")
		}
		d.Until(t, "pmcd answers", func() bool { return answers() || d.Ended() })
		if !d.Ended() {
			return
		}
		// The port may have been taken since it was chosen.
		if try == 5 || !strings.Contains(d.Log(), "in use") {
			t.Fatalf("pmcd ended:\n%s%s", said, d.Log())
		}
		d.port = ""
	}
}

// greets reads pmcd's greeting, which comes once it has called on its agents.
func (d *Daemon) greets() error {
	conn, err := net.Dial("unix", strings.TrimPrefix(d.Host, "local:"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience.Stretch(Patience))); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 20))
	return err
}

// choosePort chooses a port that nobody has, and keeps to the one that was chosen.
func (d *Daemon) choosePort(t testing.TB) {
	t.Helper()
	if d.port != "" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d.TCP = l.Addr().String()
	_, d.port, _ = net.SplitHostPort(d.TCP)
}

// Ended reports whether pmcd has.
func (d *Daemon) Ended() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

func (d *Daemon) stop(s syscall.Signal) {
	if d.cmd == nil {
		return
	}
	// Its agents, who are of its group, are told by the end of their pipes; of one that
	// does not listen to that nothing stays either.
	_ = syscall.Kill(d.cmd.Process.Pid, s)
	<-d.gone
	if s == syscall.SIGKILL {
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Kill kills pmcd, and it alone: its agents are left to notice.
func (d *Daemon) Kill() {
	_ = d.cmd.Process.Kill()
	<-d.gone
}

// Stop ends pmcd in good order (SIGTERM).
func (d *Daemon) Stop() { d.stop(syscall.SIGTERM) }

// Reload has pmcd read its configuration and name space again, and start agents that were
// lost (SIGHUP).
func (d *Daemon) Reload(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// PID is pmcd's.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Log is what pmcd has logged.
func (d *Daemon) Log() string {
	text, _ := os.ReadFile(filepath.Join(d.Dir, "pmcd.log"))
	return string(text)
}

// AgentPID is the process of the agent that pmcd started under that name; 0 if it knows none.
func (d *Daemon) AgentPID(name string) int {
	all := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`\s+\d+\s+(\d+)\s`).FindAllStringSubmatch(d.Log(), -1)
	if len(all) == 0 {
		return 0
	}
	pid, _ := strconv.Atoi(all[len(all)-1][1])
	return pid
}

func (d *Daemon) env() []string {
	// Programs of PCP that are written in Python need the system's; and what is configured
	// on this machine to be derived of metrics is none of an agent's.
	return append(os.Environ(), "PCP_DERIVED_CONFIG=", "PCP_RUN_DIR="+d.Dir, "PCP_LOG_DIR="+d.Dir, "PCP_TMP_DIR="+d.Dir, "TZ=UTC", "PATH=/usr/bin:"+os.Getenv("PATH"))
}

// Command is one of PCP's programs that asks this pmcd, ready to be started.
func (d *Daemon) Command(program string, args ...string) *exec.Cmd {
	if program != "dbpmda" {
		args = append([]string{"-h", d.Host}, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = d.env()
	cmd.Dir = d.Dir
	return cmd
}

// Try runs one of PCP's programs against this pmcd; it returns all that it said.
func (d *Daemon) Try(program string, args ...string) (string, error) {
	out, err := d.Command(program, args...).CombinedOutput()
	return string(out), err
}

// Run runs one that must succeed and have nothing to complain of.
func (d *Daemon) Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	cmd := d.Command(program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, errs.String(), d.tail())
	}
	return out.String()
}

// tail is the end of what pmcd has logged.
func (d *Daemon) tail() string {
	log := d.Log()
	return "pmcd's log:\n" + log[max(0, len(log)-2000):]
}

// Until waits until something is so that must become so.
func (d *Daemon) Until(t testing.TB, what string, so func() bool) {
	t.Helper()
	reached := false
	defer func() {
		if !reached {
			t.Log(d.tail())
		}
	}()
	patience.Until(t, what, so)
	reached = true
}

// Own is the name space of PCP's own agents, put together of the parts that PCP has
// installed: what becomes of them on a machine is done when its pmcd is first started.
func Own(t testing.TB) string {
	t.Helper()
	const merge = "/usr/lib/pcp/bin/pmnsmerge"
	Need(t, merge)
	parts, err := filepath.Glob("/var/lib/pcp/pmns/root_*")
	if err != nil || len(parts) == 0 {
		t.Fatal("PCP has no parts of a name space in /var/lib/pcp/pmns ", err)
	}
	whole := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command(merge, append(append([]string{"-a"}, parts...), whole)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", merge, err, out)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var rootBlock = regexp.MustCompile(`(?s)(?:^|\n)\s*root\s*\{(.*?)\}`)

// Join makes one name space of several, which may not have a name under the root in common.
func Join(names ...string) string {
	var root, rest strings.Builder
	for _, text := range names {
		m := rootBlock.FindStringSubmatchIndex(text)
		if m == nil {
			rest.WriteString(text)
			continue
		}
		fmt.Fprintf(&root, "\t%s\n", strings.TrimSpace(text[m[2]:m[3]]))
		fmt.Fprintf(&rest, "%s%s", text[:m[0]], text[m[1]:])
	}
	return "root {\n" + root.String() + "}\n" + rest.String()
}

// Kill kills a process that the test or a pmcd of its own has started.
func Kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}
