package launchd

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// launchctl is the absolute path of launchctl, because root runs it.
const launchctl = "/bin/launchctl"

// The exit codes of launchctl that have a meaning. They are errno values or xpc errors; which
// of them it returns depends on the release.
const (
	codeIO          = 5
	codeNoProcess   = 3
	codeTearingDown = 36
	codeInProgress  = 37
	codeNoService   = 113
	codeDisabled    = 119
)

// Launchd drives launchd through launchctl.
type Launchd struct {
	Runner Runner
	// Pause waits between two looks at a state that should change.
	Pause func(time.Duration)

	label string // empty: the recorder's
}

// name is the job's label, service its name in the domain of the machine.
func (m *Launchd) name() string {
	if m.label == "" {
		return Label
	}
	return m.label
}

func (m *Launchd) service() string { return "system/" + m.name() }

// Name is the manager's name for people.
func (m *Launchd) Name() string { return "launchd" }

// Files returns the plist and the rule for its log.
func (m *Launchd) Files(l Layout) []File {
	return []File{
		{Path: l.Rotation, Mode: 0o644, Content: l.NewsyslogRule()},
		{Path: l.SearchPath, Mode: 0o644, Content: []byte(l.Binaries + "\n")},
		{Path: l.Job, Mode: 0o644, Content: l.Plist()},
	}
}

// Commands lists the commands that Load runs.
func (m *Launchd) Commands(l Layout) []string {
	return append(m.loading(l.Job), launchctl+" kickstart "+m.service())
}

// loading lists the commands that make launchd load what a file describes.
func (m *Launchd) loading(file string) []string {
	return []string{
		launchctl + " bootout " + m.service() + "   (where it is loaded)",
		launchctl + " enable " + m.service(),
		launchctl + " bootstrap system " + quoteShell(file),
	}
}

func quoteShell(s string) string {
	if strings.ContainsAny(s, " '\"$\\") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func (m *Launchd) run(args ...string) (Result, error) { return m.Runner.Run(launchctl, args...) }

// State asks launchd.
func (m *Launchd) State() (State, error) {
	r, err := m.run("print", m.service())
	if err != nil {
		return State{}, err
	}
	st := State{Loaded: r.Code == 0}
	if st.Loaded {
		parsePrint(r.Out, &st)
	}
	r, err = m.run("print-disabled", "system")
	if err == nil && r.Code == 0 {
		st.Disabled = isDisabled(r.Out, m.name())
	}
	return st, nil
}

// parsePrint reads the state from the lines of launchctl print. The service's own lines come
// first; deeper lines belong to its endpoints and are skipped.
func parsePrint(out string, st *State) {
	for line := range strings.Lines(out) {
		body := strings.TrimPrefix(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(body, "\t") {
			continue
		}
		name, value, ok := strings.Cut(body, " = ")
		if !ok {
			continue
		}
		switch name {
		case "state":
			st.Running = value == "running"
		case "pid":
			st.PID, _ = strconv.Atoi(value)
		case "runs":
			st.Runs, _ = strconv.Atoi(value)
		case "last exit code", "last terminating signal":
			if value != "(never exited)" {
				st.LastExit = name + " " + value
			}
		}
	}
}

// isDisabled reads launchctl print-disabled: a list of "label" => disabled,
// or => true in older releases.
func isDisabled(out, label string) bool {
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if ok && name == `"`+label+`"` {
			return value == "disabled" || value == "true"
		}
	}
	return false
}

// Load boots the job out if it is loaded, and loads it again.
func (m *Launchd) Load(l Layout) error {
	if err := m.Unload(); err != nil {
		return err
	}
	return m.Start(l)
}

// Start enables, bootstraps and kickstarts the job, as far as that is needed.
func (m *Launchd) Start(l Layout) error {
	before, err := m.State()
	if err != nil {
		return err
	}
	last, st, err := m.bootstrap(l.Job)
	if err != nil {
		return err
	}
	if !st.Running {
		if last, err = m.run("kickstart", m.service()); err != nil {
			return err
		}
	}
	return m.awaitRunning(last, before.Runs, func(st State) bool { return st.Running })
}

// bootstrap enables the job and makes launchd load it, if it is not loaded. It returns the last
// command's result and the job's state after it.
func (m *Launchd) bootstrap(job string) (last Result, st State, err error) {
	if last, err = m.run("enable", m.service()); err != nil {
		return last, st, err
	}
	if st, err = m.State(); err != nil || st.Loaded {
		return last, st, err
	}
	if last, err = m.run("bootstrap", "system", job); err != nil {
		return last, st, err
	}
	// A teardown that is still under way ends soon.
	for try := 0; try < 10 && (last.Code == codeTearingDown || last.Code == codeInProgress); try++ {
		m.Pause(time.Second)
		if st, err = m.State(); err != nil || st.Loaded {
			break
		}
		if last, err = m.run("bootstrap", "system", job); err != nil {
			return last, st, err
		}
	}
	if st, err = m.State(); err == nil && !st.Loaded {
		err = m.explain("bootstrap", last, st)
	}
	return last, st, err
}

// Stop ends the process; because the exit is clean, launchd does not start it again.
func (m *Launchd) Stop() error {
	st, err := m.State()
	if err != nil || !st.Running {
		return err
	}
	last, err := m.run("kill", "SIGTERM", m.service())
	if err != nil {
		return err
	}
	return m.await(last, func(st State) bool { return !st.Running })
}

// Restart ends the process and starts it again.
func (m *Launchd) Restart(l Layout) error {
	st, err := m.State()
	if err != nil {
		return err
	}
	if !st.Loaded || !st.Running {
		return m.Start(l)
	}
	last, err := m.run("kickstart", "-k", m.service())
	if err != nil {
		return err
	}
	return m.awaitRunning(last, st.Runs, func(now State) bool { return now.Running && now.PID != st.PID })
}

// Unload boots the job out and waits until launchd has forgotten it.
func (m *Launchd) Unload() error {
	st, err := m.State()
	if err != nil || !st.Loaded {
		return err
	}
	last, err := m.run("bootout", m.service())
	if err != nil {
		return err
	}
	return m.await(last, func(st State) bool { return !st.Loaded })
}

// Journal is empty: the job's output is in its log.
func (m *Launchd) Journal(time.Time) string { return "" }

// Forget has nothing to do: launchd forgets a job when it is booted out.
func (m *Launchd) Forget() error { return nil }

// settle is how long a state may take to change: the job's ExitTimeOut and a bit more.
const settle = (exitSeconds + 15) * time.Second

// await waits for a state. last is the command that should lead to it; if it does not, the
// error explains last.
func (m *Launchd) await(last Result, reached func(State) bool) error {
	const step = 250 * time.Millisecond
	var st State
	for waited := time.Duration(0); waited < settle; waited += step {
		var err error
		if st, err = m.State(); err != nil {
			return err
		}
		if reached(st) {
			return nil
		}
		// If it failed for a reason, waiting does not help.
		if last.Code != 0 && last.Code != codeTearingDown && last.Code != codeInProgress && waited >= 3*time.Second {
			break
		}
		m.Pause(step)
	}
	return m.explain("launchctl", last, st)
}

// awaitRunning is like await, for a job that should run and had been started runs times
// before. If launchd has started the job since then and it does not run, it has ended at
// once. awaitRunning then gives up: waiting half a minute for launchd's next try would not
// change that.
func (m *Launchd) awaitRunning(last Result, runs int, reached func(State) bool) error {
	const patience = 8 // looks
	ended, state := 0, State{}
	err := m.await(last, func(st State) bool {
		state = st
		if st.Running || st.Runs <= runs {
			ended = 0
		} else {
			ended++
		}
		return reached(st) || ended >= patience
	})
	if err == nil && ended >= patience {
		return m.explain("launchctl", last, state)
	}
	return err
}

// explain turns launchctl's output into a sentence with a remedy.
func (m *Launchd) explain(what string, r Result, st State) error {
	said := strings.TrimSpace(r.Errors)
	low := strings.ToLower(said)
	if said != "" {
		said = " (" + strings.TrimSpace(strings.Split(said, "\n")[0]) + ")"
	}
	switch {
	case st.Disabled || r.Code == codeDisabled:
		return fmt.Errorf("the service is disabled: switch Tachograph (recorder) on in System Settings, General, Login Items & Extensions, then run `sudo recorder start`%s", said)
	case strings.Contains(low, "not privileged") || strings.Contains(low, "permission denied") || strings.Contains(low, "not permitted"):
		return fmt.Errorf("launchd obeys only root here: run it with sudo%s", said)
	case strings.Contains(low, "ownership"):
		return fmt.Errorf("launchd refuses %s: it must belong to root:wheel with mode 0644; `sudo recorder install` mends that%s", MacLayout().Job, said)
	case r.Code == codeIO:
		return fmt.Errorf("launchd refused the service (error 5): its plist is damaged or not root's, or the service was switched off in Login Items; `sudo recorder install` writes it anew%s", said)
	case r.Code == codeTearingDown:
		return fmt.Errorf("the old service is still being stopped (error 36): wait a minute and try again%s", said)
	case r.Code == codeInProgress:
		return fmt.Errorf("launchd is busy with this service (error 37): wait a minute and try again%s", said)
	case r.Code == codeNoService || r.Code == codeNoProcess:
		return fmt.Errorf("launchd does not know the service (error %d): run `sudo recorder install`%s", r.Code, said)
	case st.Loaded && !st.Running && st.LastExit != "":
		return fmt.Errorf("the recorder ends as soon as it is started (%s): its log says why", st.LastExit)
	case r.Code != 0:
		return fmt.Errorf("%s failed with error %d%s", what, r.Code, said)
	}
	return fmt.Errorf("launchd did what it was told, but the recorder did not reach the state that was asked for%s", said)
}
