package launchdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tachograph/launchd"
)

// Systemctl stands in for systemctl and the systemd behind it.
type Systemctl struct {
	// Root is put before the paths of the system.
	Root string
	// Start, Stop and Alive are as in Launchctl.
	Start func(words []string) (pid int, err error)
	Stop  func(pid int)
	Alive func(pid int) bool
	// Journal is what journalctl answers.
	Journal func() string

	mu    sync.Mutex
	Calls []string
	units map[string]*unit
	next  int
}

// unit is a unit that systemd knows: words are its command, empty for a socket.
type unit struct {
	*Systemctl
	name    string
	words   []string
	enabled bool
	pid     int
}

// Connect does what systemd does at a connection to the server's socket.
func (s *Systemctl) Connect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[launchd.ServeSocket] != nil && s.units[launchd.ServeSocket].pid != 0 && s.units[launchd.ServeUnit].pid == 0 {
		s.units[launchd.ServeUnit].begin()
	}
}

// Run answers one call.
func (s *Systemctl) Run(name string, args ...string) (launchd.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if filepath.IsAbs(name) && filepath.Base(name) == "journalctl" && s.Journal != nil {
		return launchd.Result{Out: s.Journal()}, nil
	}
	if !filepath.IsAbs(name) || filepath.Base(name) != "systemctl" {
		return launchd.Result{}, fmt.Errorf("%s was run in place of systemctl", name)
	}
	name = args[len(args)-1]
	u := s.units[name]
	if args[0] == "show" {
		return launchd.Result{Out: u.show()}, nil
	}
	call := strings.Join(args, " ")
	s.Calls = append(s.Calls, call)
	if call == "daemon-reload" {
		s.reload()
		return launchd.Result{}, nil
	}
	if u == nil {
		return code(5, "Unit %s not found.", name), nil
	}
	switch strings.TrimSuffix(call, " "+name) {
	case "enable":
		u.enabled = true
	case "disable --now":
		u.enabled = false
		u.end()
	case "stop":
		u.end()
	case "start":
		if u.pid == 0 || s.Alive != nil && !s.Alive(u.pid) {
			return u.begin(), nil
		}
	case "restart":
		u.end()
		if name == launchd.ServeSocket && s.units[launchd.ServeUnit].pid != 0 {
			return code(1, "Job for %s failed.", name), nil
		}
		return u.begin(), nil
	default:
		return code(1, "Unknown command verb %s.", args[0]), nil
	}
	return launchd.Result{}, nil
}

// reload finds the existing units.
func (s *Systemctl) reload() {
	units := make(map[string]*unit)
	for _, name := range []string{launchd.Unit, launchd.ServeUnit, launchd.ServeSocket, launchd.PushUnit, launchd.PMDAUnit} {
		text, err := os.ReadFile(filepath.Join(s.Root, "/etc/systemd/system", name))
		if err != nil {
			continue
		}
		u := &unit{Systemctl: s, name: name}
		if was := s.units[name]; was != nil {
			u = was
		}
		u.words = nil
		for line := range strings.Lines(string(text)) {
			if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
				u.words = strings.Fields(command)
			}
		}
		units[name] = u
	}
	s.units = units
}

func (u *unit) show() string {
	load, active, file, result, pid := "not-found", "inactive", "", "success", 0
	if u != nil {
		load, file, pid = "loaded", "disabled", u.pid
		if u.enabled {
			file = "enabled"
		}
		if u.pid != 0 && u.words != nil && u.Alive != nil && !u.Alive(u.pid) {
			active, result = "activating", "exit-code"
		} else if u.pid != 0 {
			active = "active"
		}
	}
	return fmt.Sprintf("LoadState=%s\nActiveState=%s\nMainPID=%d\nUnitFileState=%s\nResult=%s\n", load, active, pid, file, result)
}

func (u *unit) begin() launchd.Result {
	u.next++
	u.pid = u.next
	if u.Start != nil && u.words != nil {
		pid, err := u.Start(u.words)
		if err != nil {
			return code(1, "Job for %s failed: %v", u.name, err)
		}
		u.pid = pid
	}
	return launchd.Result{}
}

func (u *unit) end() {
	if u.pid != 0 && u.words != nil && u.Stop != nil {
		u.Stop(u.pid)
	}
	u.pid = 0
}
