// Package pmcdtest starts the real pmcd of Performance Co-Pilot for tests, and runs PCP's
// programs against it.
//
// Each pmcd has its own directory, agents, name space, access rules, port and socket, so many
// can run at once beside an installed PCP. Tests wait by querying pmcd, never by sleeping.
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

// Missing is the skip message of tests if PCP is not installed; continuous integration looks for
// it.
const Missing = "PCP is not installed: nothing was compared with its tools"

// Program is where Debian keeps pmcd.
const Program = "/usr/lib/pcp/bin/pmcd"

// Patience is how long to wait for something that must happen, on an idle machine.
const Patience = 30 * time.Second

// An Agent is a line of pmcd.conf.
type Agent struct {
	Name   string
	Domain int
	// How is how pmcd reaches the agent: `pipe binary COMMAND`, `socket unix PATH [COMMAND]`,
	// `socket inet PORT [COMMAND]` or `dso ENTRY PATH`.
	How string
}

// PCP's own agents, which a test may run beside its own. They run as the test's user: only root
// could change that.
var (
	PMCD   = Agent{"pmcd", 2, "dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so"}
	Proc   = Agent{"proc", 3, "pipe binary /var/lib/pcp/pmdas/proc/pmdaproc -d 3 -U " + Me()}
	Linux  = Agent{"linux", 60, "pipe binary /var/lib/pcp/pmdas/linux/pmdalinux -U " + Me()}
	Sample = Agent{"sample", 29, "pipe binary /var/lib/pcp/pmdas/sample/pmdasample -d 29 -U " + Me()}
)

// Me returns the name of the test's user.
func Me() string {
	me, err := user.Current()
	if err != nil {
		return strconv.Itoa(os.Getuid()) // the user has no name
	}
	return me.Username
}

// Config is the configuration of a pmcd.
type Config struct {
	Agents []Agent
	// Names are name spaces in the syntax of pmns(5), each with its root; the roots are joined.
	Names []string
	// Access is the text after [access] in pmcd.conf; without it all users may do everything.
	Access string
	// Flags are additional flags for pmcd, beside those that keep it in its directory.
	Flags []string
	// Env is added to pmcd's environment, for example PCP_RESTART_AGENTS=0.
	Env []string
	// For are metrics that must have values before Start returns; without any, pmcd must just
	// answer.
	For []string
}

// A Daemon is a pmcd.
type Daemon struct {
	// Dir is pmcd's own directory, where its agents start.
	Dir string
	// Host is the -h argument of PCP's programs for its unix socket, TCP the one for its port.
	Host, TCP string

	config Config
	port   string
	cmd    *exec.Cmd
	gone   chan struct{} // closed when cmd has ended
}

// Need skips a test if one of PCP's programs is missing.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(Missing)
		}
	}
}

// Start starts a pmcd and waits until it answers. The pmcd ends with the test.
func Start(t testing.TB, config Config) *Daemon {
	t.Helper()
	Need(t, Program, "pminfo")
	// Not the test's directory, because the path of a socket may have only 108 bytes.
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

// Configure writes the files for the next Launch or Reload.
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

// Launch starts pmcd again after it has ended.
func (d *Daemon) Launch(t testing.TB) {
	t.Helper()
	for try := 1; ; try++ {
		d.choosePort(t)
		_ = os.Remove(filepath.Join(d.Dir, "pmcd.socket")) // a killed pmcd leaves it
		// pmcd starts an agent once and gives up after three seconds, unless -q says otherwise:
		// a busy machine needs longer.
		args := []string{"-f", "-q", "120", "-A", "-U", Me(), "-i", "127.0.0.1", "-p", d.port, "-s", filepath.Join(d.Dir, "pmcd.socket"),
			"-c", filepath.Join(d.Dir, "pmcd.conf"), "-l", filepath.Join(d.Dir, "pmcd.log"), "-n", filepath.Join(d.Dir, "pmns"), "-x", filepath.Join(d.Dir, "fatal")}
		cmd := exec.Command(Program, append(args, d.config.Flags...)...)
		cmd.Env = append(d.env(), d.config.Env...)
		cmd.Dir = d.Dir // agents write their logs to their current directory
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

// greets reads pmcd's greeting, which comes once pmcd has called its agents.
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

// choosePort chooses a free port once, and then keeps it.
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

// Ended reports whether pmcd has ended.
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
	// The end of their pipes stops pmcd's agents, which are in its process group. The signal
	// stops those that ignore it.
	_ = syscall.Kill(d.cmd.Process.Pid, s)
	<-d.gone
	if s == syscall.SIGKILL {
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Kill kills only pmcd, not its agents.
func (d *Daemon) Kill() {
	_ = d.cmd.Process.Kill()
	<-d.gone
}

// Stop ends pmcd in good order (SIGTERM).
func (d *Daemon) Stop() { d.stop(syscall.SIGTERM) }

// Reload makes pmcd read its configuration and name space again, and start agents that were lost
// (SIGHUP).
func (d *Daemon) Reload(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// PID returns pmcd's process ID.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Log returns pmcd's log.
func (d *Daemon) Log() string {
	text, _ := os.ReadFile(filepath.Join(d.Dir, "pmcd.log"))
	return string(text)
}

// AgentPID returns the process ID of the agent with this name; 0 if pmcd has started none.
func (d *Daemon) AgentPID(name string) int {
	all := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`\s+\d+\s+(\d+)\s`).FindAllStringSubmatch(d.Log(), -1)
	if len(all) == 0 {
		return 0
	}
	pid, _ := strconv.Atoi(all[len(all)-1][1])
	return pid
}

func (d *Daemon) env() []string {
	// Python programs of PCP need the system's directories in PATH. Derived metrics that are
	// configured on this machine must not affect the tests.
	return append(os.Environ(), "PCP_DERIVED_CONFIG=", "PCP_RUN_DIR="+d.Dir, "PCP_LOG_DIR="+d.Dir, "PCP_TMP_DIR="+d.Dir, "TZ=UTC", "PATH=/usr/bin:"+os.Getenv("PATH"))
}

// Command returns one of PCP's programs for this pmcd, ready to be started.
func (d *Daemon) Command(program string, args ...string) *exec.Cmd {
	if program != "dbpmda" {
		args = append([]string{"-h", d.Host}, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = d.env()
	cmd.Dir = d.Dir
	return cmd
}

// Try runs one of PCP's programs against this pmcd, and returns all its output.
func (d *Daemon) Try(program string, args ...string) (string, error) {
	out, err := d.Command(program, args...).CombinedOutput()
	return string(out), err
}

// Run runs a program that must succeed and print no errors.
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

// tail returns the end of pmcd's log.
func (d *Daemon) tail() string {
	log := d.Log()
	return "pmcd's log:\n" + log[max(0, len(log)-2000):]
}

// Until waits until so returns true, and fails the test if that takes too long.
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

// Own returns the name space of PCP's own agents, joined from the parts that PCP has installed.
// A machine's pmcd joins them when it first starts.
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

// Join makes one name space of several, which must not have a name under the root in common.
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

// Kill kills a process that the test or its pmcd has started.
func Kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}
