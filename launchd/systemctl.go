package launchd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/config/trust"
)

// Systemd drives systemd through systemctl.
type Systemd struct{ Runner Runner }

// systemctl and journalctl are absolute paths: root runs them, and must not take them from a
// directory that only a PATH names.
var systemctl, journalctl = findProgram("systemctl"), findProgram("journalctl")

func findProgram(name string) string {
	paths := []string{"/usr/bin/" + name, "/bin/" + name, "/run/current-system/sw/bin/" + name}
	for _, path := range paths {
		if _, err := trust.Root().Resolve(path); err == nil && fileExists(path) {
			return path
		}
	}
	return paths[0]
}

// Name is the manager's name for people.
func (m *Systemd) Name() string { return "systemd" }

// Files returns the unit.
func (m *Systemd) Files(l Layout) []File {
	return []File{{Path: l.Job, Mode: 0o644, Content: l.SystemdUnit()}}
}

// Commands lists the commands that Load runs.
func (m *Systemd) Commands(l Layout) []string {
	return spelled(startAnew(Unit))
}

func (m *Systemd) do(args ...string) error {
	r, err := m.Runner.Run(systemctl, args...)
	switch {
	case err != nil:
		return err
	case r.Code == 0:
		return nil
	case r.Code == 5:
		return fmt.Errorf("systemd does not know %s: run `sudo recorder install`", args[len(args)-1])
	case strings.Contains(r.Errors, "not been booted with systemd"):
		return fmt.Errorf("this machine does not run systemd: start %q by its own means", "recorder run")
	case r.Code == 4 || strings.Contains(strings.ToLower(r.Errors), "access denied"), strings.Contains(r.Errors, "authentication"):
		return fmt.Errorf("systemd obeys only root here: run it with sudo")
	}
	return fmt.Errorf("systemctl %s failed with error %d: %s (journalctl -u %s tells more)", args[0], r.Code, strings.Split(r.Errors, "\n")[0], args[len(args)-1])
}

// Load makes systemd read the unit, and restarts it.
func (m *Systemd) Load(l Layout) error {
	return m.doAll(startAnew(Unit))
}

// startAnew makes systemd read a unit, and run it now and from each boot on.
func startAnew(unit string) [][]string {
	return [][]string{{"daemon-reload"}, {"enable", unit}, {"restart", unit}}
}

// disable stops a unit, if there is one, and disables it.
func (m *Systemd) disable(unit string) error {
	st, err := m.state(unit)
	if err != nil || !st.Loaded {
		return err
	}
	return m.do("disable", "--now", unit)
}

// doAll runs the commands in order, until one fails.
func (m *Systemd) doAll(commands [][]string) error {
	for _, args := range commands {
		if err := m.do(args...); err != nil {
			return err
		}
	}
	return nil
}

// spelled returns commands of systemctl as people type them.
func spelled(commands [][]string) (lines []string) {
	for _, args := range commands {
		lines = append(lines, systemctl+" "+strings.Join(args, " "))
	}
	return lines
}

// Unload stops and disables the unit.
func (m *Systemd) Unload() error { return m.disable(Unit) }

// Forget makes systemd notice that the unit is gone.
func (m *Systemd) Forget() error { return m.do("daemon-reload") }

// Start starts the unit.
func (m *Systemd) Start(l Layout) error { return m.do("start", Unit) }

// Stop stops it until the next boot.
func (m *Systemd) Stop() error { return m.do("stop", Unit) }

// Restart stops and starts it.
func (m *Systemd) Restart(l Layout) error { return m.do("restart", Unit) }

// journalLines is how many lines of the journal are asked for: the last ones say why the
// service does not run.
const journalLines = 200

// Journal asks journald, which shows it only to root and to some groups.
func (m *Systemd) Journal(since time.Time) string {
	r, err := m.Runner.Run(journalctl, "--unit="+Unit, "--since=@"+strconv.FormatInt(since.Unix(), 10),
		"--output=cat", "--lines="+strconv.Itoa(journalLines), "--no-pager", "--quiet")
	if err != nil || r.Code != 0 {
		return ""
	}
	return r.Out
}

// State asks systemd.
func (m *Systemd) State() (State, error) { return m.state(Unit) }

func (m *Systemd) state(unit string) (State, error) {
	r, err := m.Runner.Run(systemctl, "show", "--property=LoadState,ActiveState,MainPID,UnitFileState,Result", unit)
	if err != nil {
		return State{}, err
	}
	if r.Code != 0 {
		return State{}, fmt.Errorf("systemctl show failed with error %d: %s", r.Code, strings.Split(r.Errors, "\n")[0])
	}
	var st State
	for line := range strings.Lines(r.Out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "LoadState":
			st.Loaded = value == "loaded"
		case "ActiveState":
			st.Running = value == "active"
		case "MainPID":
			st.PID, _ = strconv.Atoi(value)
		case "UnitFileState":
			st.Disabled = value == "disabled" || value == "masked"
		case "Result":
			if value != "success" {
				st.LastExit = value
			}
		}
	}
	return st, nil
}
