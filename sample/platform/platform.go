// Package platform combines what this machine offers: its sources of metrics, its clocks, and
// its identity.
package platform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"syscall"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/said"
	"tachograph/sample/socket"
	"tachograph/sample/software"
)

// Options configure sources.
type Options struct {
	// Root is the directory of proc, sys, etc and dev; empty is "/". Only Linux uses it.
	Root string
	// Args is "off", "redacted" or "full".
	Args string
	// Threads are patterns for the processes whose threads are read; the ThreadsTop busiest
	// processes are added.
	Threads    []string
	ThreadsTop int
	// KeepReports keeps the texts of the system's reports.
	KeepReports bool
	// Network says what is recorded about connections; the zero value is the default.
	Network Network
}

// Network says what is recorded about connections, in the words of the configuration.
type Network struct {
	Peers                   string
	Connections, Namespaces int
	flows                   *socket.Flows // whom to tell what each interface carried
}

// usualNetwork is what the configuration has by default.
var usualNetwork = Network{Peers: "pseudonym", Connections: 50, Namespaces: 64}

// join opens the sources of the whole system and those of processes.
func join(opt Options, openSystem func() ([]sample.Source, error)) ([]sample.Source, error) {
	popt, err := procOptions(opt)
	if err != nil {
		return nil, err
	}
	system, err := openSystem()
	if err != nil {
		return nil, err
	}
	processes, err := proc.Sources(popt)
	if err != nil {
		for _, s := range system {
			s.Close()
		}
		return nil, err
	}
	all := append(system, processes...)
	written := said.New(opt.Root, time.Now(), machineOf(processes))
	written.KeepTexts(opt.KeepReports)
	if err := written.Refresh(); err != nil {
		return nil, err
	}
	return append(all, written), nil
}

// machineOf answers from what the sources of processes know.
func machineOf(processes []sample.Source) said.Machine {
	m := said.Machine{Zone: func() *time.Location { return Location(Zone()) }}
	for _, s := range processes {
		known, ok := s.(interface {
			Whose(pid int32, at, began time.Time, ticks uint64) (key string, owners []metric.Label, ok bool)
			Updates() []software.Change
		})
		if ok {
			m.Updates = known.Updates
			m.Whose = func(f *said.Fact) (said.Who, bool) {
				key, owners, ok := known.Whose(f.PID, f.At, f.Began, f.Ticks)
				return said.Who{Key: key, Owners: owners}, ok
			}
		}
	}
	return m
}

// longestPast is how far back what the system wrote down is read at most, and usualPast how far
// where nothing was recorded before.
const (
	longestPast = 30 * 24 * time.Hour
	usualPast   = 24 * time.Hour
)

// Since gives the sources the time of the last recording, the zero time if there is none: what the
// system wrote down since then is recorded at its own time.
func Since(sources []sample.Source, past time.Time) {
	now := time.Now()
	since := now.Add(-usualPast)
	if !past.IsZero() {
		since = past
	}
	if longest := now.Add(-longestPast); since.Before(longest) {
		since = longest
	}
	for _, s := range sources {
		if older, ok := s.(interface{ Since(time.Time) }); ok {
			older.Since(since)
		}
	}
}

// Worked is the processor time that this process has used.
func Worked() time.Duration {
	user, system := processorTime()
	return user + system
}

func processorTime() (user, system time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// procOptions converts opt to the options of the process sources.
func procOptions(opt Options) (proc.Options, error) {
	p := proc.Options{Root: opt.Root, ThreadTopN: opt.ThreadsTop}
	if opt.Args != "" {
		mode, err := cmdline.ParseMode(opt.Args)
		if err != nil {
			return p, err
		}
		p.Args = mode
	}
	net := opt.Network
	if net == (Network{flows: net.flows}) {
		net = usualNetwork
		net.flows = opt.Network.flows
	}
	peers, err := socket.ParsePrivacy(net.Peers)
	if err != nil {
		return p, err
	}
	p.Network = socket.Options{Peers: peers, Key: secret("tachograph peers"), Named: net.Connections, Namespaces: net.Namespaces, Flows: net.flows}
	// Blanks and commas separate patterns in ThreadPattern; a blank or comma inside a pattern
	// becomes "?".
	var one []string
	for _, t := range opt.Threads {
		one = append(one, strings.Map(func(r rune) rune {
			if r == ' ' || r == ',' {
				return '?'
			}
			return r
		}, t))
	}
	p.ThreadPattern = strings.Join(one, ",")
	return p, p.Check()
}

// Reconfigure passes changed options to open sources.
func Reconfigure(sources []sample.Source, opt Options) error {
	p, err := procOptions(opt)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if k, ok := s.(interface{ KeepTexts(bool) }); ok {
			k.KeepTexts(opt.KeepReports)
		}
		if r, ok := s.(interface{ SetOptions(proc.Options) error }); ok {
			if err := r.SetOptions(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// identity makes the ID of a host from the machine's own identifier. That would identify the
// machine to any reader of an archive, and archives travel, so they get a hash of it that is of
// no use elsewhere.
func identity(machine string) string {
	return hex.EncodeToString(secretOf(machine, "tachograph host")[:16])
}

// secret returns a key for a purpose that is always the same on this machine.
func secret(purpose string) []byte { return secretOf(machineID(), purpose) }

func secretOf(machine, purpose string) []byte {
	machine = strings.TrimSpace(machine)
	if machine == "" {
		name, _ := os.Hostname()
		machine = "host name " + name
	}
	mac := hmac.New(sha256.New, []byte(machine))
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// Zone returns the time zone in force: its IANA name if known, else its offset.
func Zone() string {
	if tz, ok := os.LookupEnv("TZ"); ok {
		return zoneFromEnv(tz)
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(link, "zoneinfo/"); ok {
			return name
		}
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		if name := strings.TrimSpace(string(text)); name != "" {
			return name
		}
	}
	return time.Now().Format("-07:00")
}

func zoneFromEnv(tz string) string {
	tz = strings.TrimPrefix(tz, ":")
	if _, name, ok := strings.Cut(tz, "zoneinfo/"); ok {
		return name
	}
	if tz == "" {
		return "UTC"
	}
	return tz
}

// Location returns the zone called zone, or the program's local zone if that is unknown.
func Location(zone string) *time.Location {
	if loc, err := time.LoadLocation(zone); err == nil {
		return loc
	}
	return time.Local
}

func label(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }
