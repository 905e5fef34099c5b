// Package launchdtest contains fake launchctl and systemctl programs for tests, and runs programs
// under the limits that a unit of systemd sets. The fakes keep a state, return the exit codes of the
// real ones and log their calls.
package launchdtest

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tachograph/launchd"
)

// Launchctl stands in for launchctl and the launchd behind it. It knows the jobs of the
// recorder and of the services beside it.
type Launchctl struct {
	// Root is put before the paths of the system.
	Root string
	// Start starts a program and returns its pid; Stop ends it and waits until it is gone.
	// Without them no program is started, and the pid is just a number.
	Start func(words []string) (pid int, err error)
	Stop  func(pid int)
	// Alive reports whether a program still runs; without it, all do.
	Alive func(pid int) bool

	// Refused makes enable have no effect, as Login Items do.
	Refused bool
	// Unprivileged answers as it would to a user who is not root.
	Unprivileged bool
	// Teardown is for how many looks a job is still there after bootout.
	Teardown int
	// Busy is how many calls of bootstrap answer that something is in progress.
	Busy int
	// Crashing jobs end as soon as they are started.
	Crashing bool

	mu    sync.Mutex
	Calls []string
	jobs  map[string]*job
}

// job is one of launchd's jobs.
type job struct {
	*Launchctl
	label    string
	loaded   bool
	disabled bool
	pid      int
	next     int
	leaving  int
	words    []string
	exit     string
}

// Service is the name of the recorder's service.
const Service = "system/" + launchd.Label

const domain = "system/"

func (l *Launchctl) job(label string) *job {
	if l.jobs == nil {
		l.jobs = make(map[string]*job)
	}
	if l.jobs[label] == nil {
		l.jobs[label] = &job{Launchctl: l, label: label}
	}
	return l.jobs[label]
}

// Preload puts the recorder's job in a state, as an earlier installation left it.
func (l *Launchctl) Preload(loaded, running, disabled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job(launchd.Label)
	j.loaded, j.disabled = loaded, disabled
	if running {
		j.next++
		j.pid = j.next
	}
}

// Connect does what launchd does at a connection to a job's socket.
func (l *Launchctl) Connect(label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.job(label); j.loaded && j.pid == 0 {
		j.begin()
	}
}

func code(n int, format string, args ...any) launchd.Result {
	return launchd.Result{Code: n, Errors: fmt.Sprintf(format, args...)}
}

// Run answers one call.
func (l *Launchctl) Run(name string, args ...string) (launchd.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name != "/bin/launchctl" {
		return launchd.Result{}, fmt.Errorf("%s was run in place of launchctl", name)
	}
	call := strings.Join(args, " ")
	if args[0] != "print" && args[0] != "print-disabled" {
		l.Calls = append(l.Calls, call)
		if l.Unprivileged {
			return code(1, "Not privileged to %s service.", args[0]), nil
		}
	}
	if call == "print-disabled system" {
		return launchd.Result{Out: l.printDisabled()}, nil
	}
	if len(args) == 3 && args[0] == "bootstrap" && args[1] == "system" {
		return l.job(strings.TrimSuffix(filepath.Base(args[2]), ".plist")).bootstrap(args[2]), nil
	}
	label, ok := strings.CutPrefix(args[len(args)-1], domain)
	if !ok {
		return code(64, "Unrecognized subcommand: %s", call), nil
	}
	j := l.job(label)
	switch strings.Join(args[:len(args)-1], " ") {
	case "print":
		return j.print(), nil
	case "enable":
		j.disabled = j.disabled && l.Refused
		return launchd.Result{}, nil
	case "bootout":
		return j.bootout(), nil
	case "kickstart", "kickstart -k":
		return j.kickstart(args[1] == "-k"), nil
	case "kill SIGTERM":
		if !j.loaded {
			return code(113, "Could not find service %q in domain for system", label), nil
		}
		j.end("0")
		return launchd.Result{}, nil
	}
	return code(64, "Unrecognized subcommand: %s", call), nil
}

func (l *Launchctl) printDisabled() string {
	var b strings.Builder
	b.WriteString("\n\tdisabled services = {\n\t\t\"com.example.other\" => enabled\n")
	for _, label := range []string{launchd.Label, launchd.ServeLabel, launchd.PushLabel, launchd.PMDALabel} {
		fmt.Fprintf(&b, "\t\t%q => %s\n", label, map[bool]string{true: "disabled", false: "enabled"}[l.job(label).disabled])
	}
	return b.String() + "\t}\n"
}

func (l *job) print() launchd.Result {
	if l.leaving > 0 {
		if l.leaving--; l.leaving == 0 {
			l.loaded = false
		}
	}
	if l.pid != 0 && l.Alive != nil && !l.Alive(l.pid) {
		l.end("2")
	}
	if !l.loaded {
		return code(113, "Bad request.\nCould not find service %q in domain for system", l.label)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s = {\n\tactive count = 1\n\tpath = /Library/LaunchDaemons/%s.plist\n\ttype = LaunchDaemon\n", domain, l.label, l.label)
	if l.pid != 0 {
		fmt.Fprintf(&b, "\tstate = running\n\n\tprogram = %s\n\n\tendpoints = {\n\t\t\"x\" = {\n\t\t\tstate = active\n\t\t}\n\t}\n\n\truns = %d\n\tpid = %d\n", strings.Join(l.words, " "), l.next, l.pid)
	} else {
		fmt.Fprintf(&b, "\tstate = not running\n\n\truns = %d\n", l.next)
	}
	exit := l.exit
	if exit == "" {
		exit = "(never exited)"
	}
	fmt.Fprintf(&b, "\tlast exit code = %s\n}\n", exit)
	return launchd.Result{Out: b.String()}
}

func (l *job) bootstrap(path string) launchd.Result {
	switch {
	case l.disabled:
		return code(119, "Bootstrap failed: 119: Service is disabled")
	case l.leaving > 0:
		return code(37, "Bootstrap failed: 37: Operation already in progress")
	case l.loaded:
		return code(5, "Bootstrap failed: 5: Input/output error")
	case l.Busy > 0:
		l.Busy--
		return code(37, "Bootstrap failed: 37: Operation already in progress")
	}
	full := filepath.Join(l.Root, path)
	info, err := os.Stat(full)
	if err != nil {
		return code(5, "Bootstrap failed: 5: Input/output error")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return code(122, "Path had bad ownership/permissions\nBootstrap failed: 122: Path had bad ownership/permissions")
	}
	text, err := os.ReadFile(full)
	atLoad := false
	if err == nil {
		l.words, atLoad, err = programArguments(text)
	}
	if err != nil {
		return code(5, "Bootstrap failed: 5: Input/output error")
	}
	l.loaded = true
	if !atLoad {
		return launchd.Result{}
	}
	return l.begin()
}

func (l *job) begin() launchd.Result {
	l.next++
	l.pid = l.next
	if l.Start != nil {
		pid, err := l.Start(l.words)
		if err != nil {
			return code(5, "%v", err)
		}
		l.pid = pid
	}
	if l.Crashing {
		l.end("78: EX_CONFIG")
	}
	return launchd.Result{}
}

func (l *job) end(exit string) {
	if l.pid != 0 && l.Stop != nil {
		l.Stop(l.pid)
	}
	l.pid, l.exit = 0, exit
}

func (l *job) bootout() launchd.Result {
	if !l.loaded {
		return code(3, "Boot-out failed: 3: No such process")
	}
	l.end("0")
	if l.Teardown > 0 {
		l.leaving = l.Teardown
		return code(36, "Boot-out failed: 36: Operation now in progress")
	}
	l.loaded = false
	return launchd.Result{}
}

func (l *job) kickstart(kill bool) launchd.Result {
	if !l.loaded {
		return code(113, "Could not find service %q in domain for system", l.label)
	}
	if l.pid != 0 && !kill {
		return code(37, "service already running")
	}
	l.end("0")
	return l.begin()
}

// programArguments reads the words of a job's command, and whether the job starts when it is
// loaded, with an XML parser and not with this program's own knowledge of the text.
func programArguments(text []byte) (words []string, atLoad bool, err error) {
	var p struct {
		Dict struct {
			Items []struct {
				XMLName xml.Name
				Text    string   `xml:",chardata"`
				Strings []string `xml:"string"`
			} `xml:",any"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal(text, &p); err != nil {
		return nil, false, err
	}
	for i, it := range p.Dict.Items {
		if it.XMLName.Local != "key" || i+1 == len(p.Dict.Items) {
			continue
		}
		switch value := p.Dict.Items[i+1]; it.Text {
		case "ProgramArguments":
			words = value.Strings
		case "RunAtLoad":
			atLoad = value.XMLName.Local == "true"
		}
	}
	if words == nil {
		err = fmt.Errorf("no ProgramArguments")
	}
	return words, atLoad, err
}
