package launchd

import "time"

// State is what the manager of services says about ours.
type State struct {
	Loaded   bool // the manager knows it
	Running  bool
	Disabled bool // by the administrator, or by the user in the settings
	PID      int
	Runs     int // how often it was started, where that is counted
	// LastExit is how it ended last, in the manager's words; empty when it
	// has not.
	LastExit string
}

// Manager drives the machine's manager of services.
type Manager interface {
	// Name is what people call it.
	Name() string
	// Files are the files that describe the service.
	Files(l Layout) []File
	// Load makes the manager take the files up and start the service. It
	// replaces one that is loaded.
	Load(l Layout) error
	// Unload stops the service and makes the manager forget it.
	Unload() error
	// Forget makes the manager notice that the files are gone.
	Forget() error
	Start(l Layout) error
	Stop() error
	Restart(l Layout) error
	State() (State, error)
	// Journal is what the service has said since then, where the manager keeps
	// that; empty where the service has a log of its own.
	Journal(since time.Time) string
	// Commands lists what Load runs, for people.
	Commands(l Layout) []string
	// Describe returns the files that describe a service beside the recorder's.
	Describe(l Layout, s Service) ([]File, error)
	// Job drives such a service.
	Job(l Layout, k Kind) Job
}
