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
	// Root is where the paths of the system are found.
	Root string
	// Start, Stop and Alive are as in Launchctl.
	Start func(words []string) (pid int, err error)
	Stop  func(pid int)
	Alive func(pid int) bool
	// Journal is what journalctl answers.
	Journal func() string

	mu      sync.Mutex
	Calls   []string
	words   []string // of the unit that is known; nil: none is
	enabled bool
	pid     int
	next    int
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
	if args[0] == "show" {
		return launchd.Result{Out: s.show()}, nil
	}
	call := strings.Join(args, " ")
	s.Calls = append(s.Calls, call)
	if call == "daemon-reload" {
		s.words = s.read()
		return launchd.Result{}, nil
	}
	if s.words == nil {
		return code(5, "Unit %s not found.", launchd.Unit), nil
	}
	switch call {
	case "enable " + launchd.Unit:
		s.enabled = true
	case "disable --now " + launchd.Unit:
		s.enabled = false
		s.end()
	case "stop " + launchd.Unit:
		s.end()
	case "start " + launchd.Unit:
		if s.pid == 0 || s.Alive != nil && !s.Alive(s.pid) {
			return s.begin(), nil
		}
	case "restart " + launchd.Unit:
		s.end()
		return s.begin(), nil
	default:
		return code(1, "Unknown command verb %s.", args[0]), nil
	}
	return launchd.Result{}, nil
}

func (s *Systemctl) show() string {
	load, active, file, result := "not-found", "inactive", "", "success"
	if s.pid != 0 && s.Alive != nil && !s.Alive(s.pid) {
		active, result = "activating", "exit-code"
	} else if s.pid != 0 {
		active = "active"
	}
	if s.words != nil {
		load, file = "loaded", "disabled"
	}
	if s.enabled {
		file = "enabled"
	}
	return fmt.Sprintf("LoadState=%s\nActiveState=%s\nMainPID=%d\nUnitFileState=%s\nResult=%s\n", load, active, s.pid, file, result)
}

// read takes the command out of the unit file.
func (s *Systemctl) read() []string {
	text, err := os.ReadFile(filepath.Join(s.Root, "/etc/systemd/system", launchd.Unit))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
			return strings.Fields(command)
		}
	}
	return nil
}

func (s *Systemctl) begin() launchd.Result {
	s.next++
	s.pid = s.next
	if s.Start != nil {
		pid, err := s.Start(s.words)
		if err != nil {
			return code(1, "Job for %s failed: %v", launchd.Unit, err)
		}
		s.pid = pid
	}
	return launchd.Result{}
}

func (s *Systemctl) end() {
	if s.pid != 0 && s.Stop != nil {
		s.Stop(s.pid)
	}
	s.pid = 0
}
