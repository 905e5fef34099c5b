package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"tachograph/config"
	"tachograph/launchd"
)

// host is the machine's manager of services and the layout of files for it.
type host struct {
	layout  launchd.Layout
	manager launchd.Manager
	root    string // put before all paths; only tests have one
	euid    int
	asker   int    // user who became root for it; 0: none
	from    string // directory of the binaries to install
	waits   waits
}

func thisHost() (host, error) {
	h := host{euid: os.Geteuid(), asker: asker(), waits: usualWaits}
	switch runtime.GOOS {
	case "darwin":
		h.layout = launchd.MacLayout()
		h.manager = &launchd.Launchd{Runner: launchd.Exec{}, Pause: time.Sleep}
	default:
		h.layout = launchd.LinuxLayout()
		h.manager = &launchd.Systemd{Runner: launchd.Exec{}}
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return h, fmt.Errorf("the recorder does not find its own file: %w", err)
	}
	h.from = filepath.Dir(self)
	return h, nil
}

// asker is the user who became root with sudo to run this; 0: none.
func asker() int {
	if os.Geteuid() != 0 {
		return 0
	}
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil || uid < 0 {
		return 0
	}
	return uid
}

// waits are how long to wait for a service that is started.
type waits struct {
	// firstTick is how long a recorder may take from its start to its first
	// tick.
	firstTick time.Duration
	// downFor is how long the manager must say that the service does not run before that is
	// believed: it may be between two processes.
	downFor time.Duration
}

var usualWaits = waits{firstTick: 30 * time.Second, downFor: 2 * time.Second}

// archives returns where the installed service keeps its archives: its configuration may name
// another directory than the usual one.
func (h *host) archives() string {
	usual := filepath.Join(h.root, h.layout.Archives)
	cfg, err := config.Load(filepath.Join(h.root, h.layout.Config))
	// A configuration that cannot be read prevents the service from starting, and the service
	// will log that.
	if err != nil || cfg.Archive.Dir == "" || cfg.Archive.Dir == h.layout.Archives {
		return usual
	}
	return cfg.Archive.Dir
}

// logPlace is where people find the service's messages.
func (h *host) logPlace() string {
	if h.layout.Log != "" {
		return h.layout.Log
	}
	return "journalctl -u " + launchd.Unit
}
