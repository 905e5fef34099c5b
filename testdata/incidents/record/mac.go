package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// mac is an incident on the simulated Mac.
type mac struct {
	onset    float64 // seconds after the beginning
	length   int     // of the recording, in minutes without sleep
	scenario string
	asleep   float64 // how many seconds it sleeps in all
	panics   bool
}

const (
	macHost     = "macbook.local"
	macArchives = "/Library/Archives"
	macSpeed    = "12"
	wentDown    = 64 // the exit status of the simulated Mac when it went down
)

// calmMac is the standard laptop on mains power, with nothing unusual.
const calmMac = `
host { root yes; loadavg saw 1.2 2.1 300 saw 1.4 1.9 900 1.75 }
sysctl kern.memorystatus_vm_pressure_level 1
notify com.apple.system.thermalpressurelevel 0
ioreg { at "AppleSmartBattery" {
  prop "ExternalConnected" bool yes
  prop "IsCharging" bool no
  prop "FullyCharged" bool yes
  prop "CurrentCapacity" int 100
  prop "Amperage" int 0
  prop "InstantAmperage" int 0
} }
powersource "InternalBattery-0" {
  "Power Source State" string "AC Power"
  "Current Capacity" int 100
  "Is Charging" bool no
  "Time to Empty" int 0
  "Time to Full Charge" int 0
}
smc Tp09 flt saw 43 52 60
smc Tp0T flt saw 42 50 60
smc TC0P flt saw 41 46 90
smc PSTR flt saw 5 9 75
smc PDTR flt saw 7 12 75
mount "/System/Volumes/Data" { f_bfree saw 60100000 60112233 600; f_bavail saw 60100000 60112233 600 }
self { pid 97; rss 30M; path "/usr/local/bin/recorder" }
`

// record runs the scenario with a recorder, and returns the archives.
func (m *mac) record(ctx context.Context, root, scratch string) ([]string, error) {
	host, err := darwintest.FindMac(root)
	if err != nil {
		return nil, err
	}
	recorder, err := host.Program("tachograph/cmd/recorder")
	if err != nil {
		return nil, err
	}
	// The archive is finished at a full minute, and the recording ends a little after it.
	end := begin.Add(time.Duration(m.length)*time.Minute + seconds(m.asleep))
	library := filepath.Join(scratch, "root", "Library")
	reports := filepath.Join(library, "Logs", "DiagnosticReports")
	if err := errors.Join(os.MkdirAll(reports, 0o755),
		os.WriteFile(filepath.Join(library, "recorder.toml"), fmt.Appendf(nil, "[archive]\nrotate = \"%d %d * * *\"\n", end.Minute(), end.Hour()), 0o600),
		os.WriteFile(filepath.Join(scratch, "scenario"), fmt.Appendf(nil, "include %q\nclock wall %s\n%s\n%s\n",
			filepath.Join(host.Shipped, "macbook-m.scn"), begin.Format("2006-01-02T15:04:05"), calmMac, m.scenario), 0o644)); err != nil {
		return nil, err
	}
	for boot := 0; ; boot++ {
		length := time.Duration(m.length)*time.Minute + 10*time.Second
		if boot > 0 {
			length -= seconds(m.onset)
		}
		cmd := host.Command([]string{"--speed", macSpeed, "--scenario", filepath.Join(scratch, "scenario"), "--root", filepath.Join(scratch, "root"),
			"--resume", filepath.Join(scratch, "state")}, recorder, "run", "--archive", macArchives, "--config", "/Library/recorder.toml", "--for", length.String())
		cmd.Env = append(os.Environ(), "TZ=UTC")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := run(ctx, cmd); err != nil {
			var ended *exec.ExitError
			if m.panics && boot == 0 && errors.As(err, &ended) && ended.ExitCode() == wentDown {
				if err := m.report(reports); err != nil {
					return nil, err
				}
				continue
			}
			return nil, fmt.Errorf("the recorder on the simulated Mac: %w\n%s", err, said.String())
		}
		return filepath.Glob(filepath.Join(scratch, "root", macArchives, "*.tacho"))
	}
}

// report writes the file that a Mac writes when it starts after a panic.
func (m *mac) report(dir string) error {
	at := begin.Add(seconds(m.onset + 100))
	path := filepath.Join(dir, "panic-full-"+at.Format("2006-01-02-150405")+".0002.panic")
	text := `{"panicString":"panic(cpu 3 caller 0xfffffe001b2c3d4c): watchdog timeout: no checkins from watchdogd in 94 seconds"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, at, at)
}

// run runs a command until it ends, or ends it when ctx does.
func run(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		cmd.Process.Kill()
		<-ended
		return errors.New("interrupted")
	}
}

// A curve is a value over seconds, linear between its points.
type curve []struct{ at, is float64 }

func (c curve) value(at float64) float64 {
	for i, p := range c {
		switch {
		case at >= p.at:
		case i == 0:
			return p.is
		default:
			last := c[i-1]
			return last.is + (p.is-last.is)*(at-last.at)/(p.at-last.at)
		}
	}
	return c[len(c)-1].is
}

// level returns the curve as a scenario's value, in steps of a second.
func (c curve) level() string {
	var b strings.Builder
	last := fmt.Sprintf("%.0f", c.value(0))
	fmt.Fprintf(&b, "step %s", last)
	for at := 1.0; at <= c[len(c)-1].at; at++ {
		if v := fmt.Sprintf("%.0f", c.value(at)); v != last {
			fmt.Fprintf(&b, " %.0f %s", at, v)
			last = v
		}
	}
	return b.String()
}

// counter returns a counter that rises by the curve's value each second.
func (c curve) counter(start float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %.0f", start)
	// After its last point a curve is constant.
	for at := 0.5; at < 1000; at += 0.5 {
		start += c.value(at) / 2
		fmt.Fprintf(&b, " %g %.0f", at, start)
	}
	return b.String()
}
