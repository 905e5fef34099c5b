package launchd

import "path/filepath"

// A Kind is one of the services that may run beside the recorder.
type Kind int

const (
	Server Kind = iota // replay serve
	Pusher             // replay push --follow
	Agent              // recorder pmda
)

// kinds are the names of each kind: its label for launchd, and for systemd its unit and the
// socket that starts it, if there is one.
var kinds = [...]struct{ label, unit, socket string }{
	Server: {ServeLabel, ServeUnit, ServeSocket},
	Pusher: {PushLabel, PushUnit, ""},
	Agent:  {PMDALabel, PMDAUnit, ""},
}

// job returns the file that describes a service, and its log; no log where the manager
// keeps a journal.
func (l Layout) job(k Kind) (file, log string) {
	switch k {
	case Server:
		return l.ServeJob, l.ServeLog
	case Pusher:
		return l.PushJob, l.PushLog
	}
	return l.PMDAJob, l.PMDALog
}

// A Service says how a service is installed: a Serve, a Push or a PMDA.
type Service interface {
	// launchd and systemd return the files that describe it to either manager.
	launchd(l Layout) ([]File, error)
	systemd(l Layout) ([]File, error)
}

// A Job drives a service that is installed.
type Job interface {
	// Paths are the files that describe the service, and the log that it may have written.
	Paths() []string
	// Load makes the manager read the files and start the service, or listen in its place. It
	// replaces a service that is loaded.
	Load() error
	// Unload stops the service and makes the manager forget it.
	Unload() error
	State() (State, error)
	// Commands lists the commands that Load runs, for people.
	Commands() []string
}

// launchdJob is a job beside the recorder's.
type launchdJob struct {
	*Launchd
	file, log string
}

// Describe returns the files that describe a service.
func (m *Launchd) Describe(l Layout, s Service) ([]File, error) { return s.launchd(l) }

// Job drives a job beside the recorder's.
func (m *Launchd) Job(l Layout, k Kind) Job {
	file, log := l.job(k)
	return launchdJob{&Launchd{Runner: m.Runner, Pause: m.Pause, label: kinds[k].label}, file, log}
}

func (m launchdJob) Paths() []string { return []string{m.file, m.log} }

func (m launchdJob) Commands() []string { return m.loading(m.file) }

func (m launchdJob) Load() error {
	if err := m.Unload(); err != nil {
		return err
	}
	_, _, err := m.bootstrap(m.file)
	return err
}

// systemdJob is a unit beside the recorder's, and the socket that starts it, if there is one.
type systemdJob struct {
	*Systemd
	file, unit, socket string
}

// Describe returns the files that describe a service.
func (m *Systemd) Describe(l Layout, s Service) ([]File, error) { return s.systemd(l) }

// Job drives a unit beside the recorder's.
func (m *Systemd) Job(l Layout, k Kind) Job {
	file, _ := l.job(k)
	return systemdJob{m, file, kinds[k].unit, kinds[k].socket}
}

func (m systemdJob) Paths() []string {
	if m.socket == "" {
		return []string{m.file}
	}
	return []string{m.file, filepath.Join(filepath.Dir(m.file), m.socket)}
}

// loading are the commands that Load runs. A socket cannot be restarted while its service runs,
// so the service is stopped first.
func (m systemdJob) loading() [][]string {
	if m.socket == "" {
		return startAnew(m.unit)
	}
	return [][]string{{"daemon-reload"}, {"stop", m.unit}, {"enable", m.socket}, {"restart", m.socket}}
}

func (m systemdJob) Commands() []string { return spelled(m.loading()) }

func (m systemdJob) Load() error { return m.doAll(m.loading()) }

func (m systemdJob) Unload() error {
	if m.socket == "" {
		return m.disable(m.unit)
	}
	st, err := m.state(m.socket)
	if err != nil || !st.Loaded {
		return err
	}
	if err := m.do("disable", "--now", m.socket); err != nil {
		return err
	}
	return m.do("stop", m.unit)
}

// State is the state of the unit. A unit that a socket starts counts as loaded while the socket
// listens.
func (m systemdJob) State() (State, error) {
	if m.socket == "" {
		return m.state(m.unit)
	}
	socket, err := m.state(m.socket)
	if err != nil {
		return State{}, err
	}
	st, err := m.state(m.unit)
	st.Loaded, st.Disabled = socket.Loaded && socket.Running, socket.Disabled
	return st, err
}
