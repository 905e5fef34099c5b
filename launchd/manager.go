package launchd

import "time"

// State is the state of our service, as reported by the manager of services.
type State struct {
	Loaded   bool // the manager knows the service
	Running  bool
	Disabled bool // by the administrator, or by the user in the settings
	PID      int
	Runs     int // how often it was started, if the manager counts that
	// LastExit is how it last ended, in the manager's words; empty if it has not ended.
	LastExit string
}

// Manager drives the machine's manager of services.
type Manager interface {
	// Name is the manager's name for people.
	Name() string
	// Files are the files that describe the service.
	Files(l Layout) []File
	// Load makes the manager read the files and start the service. It replaces a service that
	// is loaded.
	Load(l Layout) error
	// Unload stops the service and makes the manager forget it.
	Unload() error
	// Forget makes the manager notice that the files are gone.
	Forget() error
	Start(l Layout) error
	Stop() error
	Restart(l Layout) error
	State() (State, error)
	// Journal returns what the service has logged since then, if the manager keeps that; empty
	// if the service has a log of its own.
	Journal(since time.Time) string
	// Commands lists the commands that Load runs, for people.
	Commands(l Layout) []string
	// Describe returns the files that describe a service beside the recorder's.
	Describe(l Layout, s Service) ([]File, error)
	// Job drives a service beside the recorder's.
	Job(l Layout, k Kind) Job
}
