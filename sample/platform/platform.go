// Package platform puts together what the machine at hand offers: its sources
// of metrics, its clocks, and who it is.
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
)

// Options choose what sources keep.
type Options struct {
	// Root is where proc, sys, etc and dev are found; empty is "/". Only
	// Linux follows it.
	Root string
	// Args is "off", "redacted" or "full".
	Args string
	// Threads are patterns of processes whose threads are read, ThreadsTop is
	// how many of the busiest are added.
	Threads    []string
	ThreadsTop int
}

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
	return append(system, processes...), nil
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

// procOptions are the options of the sources of processes.
func procOptions(opt Options) (proc.Options, error) {
	p := proc.Options{Root: opt.Root, ThreadTopN: opt.ThreadsTop}
	if opt.Args != "" {
		mode, err := cmdline.ParseMode(opt.Args)
		if err != nil {
			return p, err
		}
		p.Args = mode
	}
	// Blanks and commas separate patterns there; in a name they may stand for
	// themselves.
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

// Reconfigure tells sources that are open of changed options.
func Reconfigure(sources []sample.Source, opt Options) error {
	p, err := procOptions(opt)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if r, ok := s.(interface{ SetOptions(proc.Options) error }); ok {
			if err := r.SetOptions(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// identity makes the ID of a host from a number that the machine keeps for
// itself. The number identifies the machine to everybody, so that archives,
// which travel, get a hash of it that is of no use elsewhere.
func identity(machine string) string {
	machine = strings.TrimSpace(machine)
	if machine == "" {
		name, _ := os.Hostname()
		machine = "host name " + name
	}
	mac := hmac.New(sha256.New, []byte(machine))
	mac.Write([]byte("tachograph host"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Zone names the time zone in force: its IANA name where that is known, else
// its offset.
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

// Location is the zone of that name; the one the program was started in where
// it is unknown.
func Location(zone string) *time.Location {
	if loc, err := time.LoadLocation(zone); err == nil {
		return loc
	}
	return time.Local
}

func label(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }
