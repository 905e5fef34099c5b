package launchd

import (
	"path/filepath"
)

// Label is the service's name for launchd, and the name of its files there.
const Label = "org.tachograph.recorder"

// Unit is the service's name for systemd.
const Unit = "tachograph.service"

// Layout says where everything is put. Paths are those of the running system; Installer adds
// its root.
type Layout struct {
	Binaries string // directory
	Config   string
	Archives string
	Log      string // empty: the journal
	Job      string // plist or unit
	// Rotation is the rule that rotates the log; empty: there is none.
	Rotation string
	// SearchPath is a file that adds Binaries to shells' search path; empty: Links does that.
	SearchPath string
	// Manuals is a directory that man searches, with a directory for each section.
	Manuals string
	// Of the server: its plist or unit, its socket, and its log; empty: the journal.
	ServeJob, ServeSocket, ServeLog string
	// Of the push: its plist or unit, the directory of its state, and its log; empty:
	// the journal.
	PushJob, PushState, PushLog string
	// Of the agent for Performance Co-Pilot: its plist or unit, its sockets, with * for
	// the domain, and its log; empty: the journal.
	PMDAJob, PMDASockets, PMDALog string
	// Links is a directory that gets links to the binaries; empty: none.
	Links string
}

// MacLayout is the layout on macOS. It does not use /usr/local, which on many Macs belongs to a
// user.
func MacLayout() Layout {
	return Layout{
		Binaries:   "/Library/Tachograph/bin",
		Config:     "/Library/Application Support/Tachograph/tachograph.toml",
		Archives:   "/Library/Application Support/Tachograph/Archives",
		Log:        "/Library/Logs/Tachograph/recorder.log",
		Job:        "/Library/LaunchDaemons/" + Label + ".plist",
		Rotation:   "/etc/newsyslog.d/" + Label + ".conf",
		SearchPath: "/etc/paths.d/tachograph",
		ServeJob:   "/Library/LaunchDaemons/" + ServeLabel + ".plist",
		// /var/run is emptied when the machine starts, and launchd makes no directories.
		ServeSocket: "/var/run/" + ServeLabel + ".sock",
		ServeLog:    "/Library/Logs/Tachograph/serve.log",
		PushJob:     "/Library/LaunchDaemons/" + PushLabel + ".plist",
		PushState:   "/Library/Application Support/Tachograph/Push",
		PushLog:     "/Library/Logs/Tachograph/push.log",
		PMDAJob:     "/Library/LaunchDaemons/" + PMDALabel + ".plist",
		PMDASockets: "/var/run/" + PMDALabel + ".*.sock",
		PMDALog:     "/Library/Logs/Tachograph/pmda.log",
		// Man searches beside the directories in SearchPath.
		Manuals: "/Library/Tachograph/share/man",
	}
}

// LinuxLayout is the layout on Linux.
func LinuxLayout() Layout {
	return Layout{
		Binaries:    "/usr/local/lib/tachograph",
		Config:      "/etc/tachograph/tachograph.toml",
		Archives:    "/var/lib/tachograph",
		Job:         "/etc/systemd/system/" + Unit,
		ServeJob:    "/etc/systemd/system/" + ServeUnit,
		ServeSocket: "/run/tachograph/serve.sock",
		PushJob:     "/etc/systemd/system/" + PushUnit,
		PushState:   "/var/lib/tachograph-push",
		PMDAJob:     "/etc/systemd/system/" + PMDAUnit,
		PMDASockets: "/run/tachograph-pmda/*.sock",
		Links:       "/usr/local/bin",
		Manuals:     "/usr/local/share/man",
	}
}

// Recorder is the recorder's binary.
func (l Layout) Recorder() string { return filepath.Join(l.Binaries, "recorder") }

// Replay is the reader's binary.
func (l Layout) Replay() string { return filepath.Join(l.Binaries, "replay") }

// Command is what the service runs.
func (l Layout) Command() []string {
	words := []string{l.Recorder(), "run", "--config", l.Config}
	if l.Log != "" {
		words = append(words, "--log-file", l.Log)
	}
	return words
}

const (
	throttleSeconds = 30
	exitSeconds     = 60
	openFiles       = 4096
	// On Linux the recorder keeps files of every process open.
	openFilesLinux = 40960
)
