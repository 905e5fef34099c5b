package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/service"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/probe"
)

// wideMachine is a made-up machine with long names, some of them wide.
type wideMachine struct{ *machine }

func (m wideMachine) Read(c *sample.Context, frames []*sample.Frame) error {
	if err := m.machine.Read(c, frames); err != nil {
		return err
	}
	for _, f := range frames {
		if f.Full().Indom == metric.NoIndom {
			continue
		}
		for i, name := range []string{"Macintosh HD - Data of somebody with a long name", "4194303 北京的磁盘", "4194304"} {
			row := f.Row(&metric.Instance{Key: name, Name: name})
			f.SetUint(row, 0, 1<<63+m.n*4000000*uint64(i+1))
			f.SetUint(row, 1, m.n*250)
			f.SetFloat(row, 2, 0.123456789012345678)
		}
	}
	return nil
}

// screens are what recorder prints for people on a terminal of so many columns; 0
// for none.
func screens(t *testing.T, dir string, width int, ascii bool) map[string]string {
	t.Helper()
	file := filepath.Join(dir, "a-directory-with-a-name-that-is-longer-than-most", "tachograph.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[archive]\ndir = \""+dir+"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]string)
	for _, line := range []string{"probe --wait 1ms", "probe --wait 1ms --cost", "metrics", "metrics --describe", "check --config FILE", "check --witness --wait 1ms"} {
		var o, e bytes.Buffer
		a := &app{
			out: toPeople(&o), err: toPeople(&e), now: platform.Now, width: width, ascii: ascii,
			sources: func(platform.Options) ([]sample.Source, error) {
				return []sample.Source{wideMachine{newMachine()}}, nil
			},
			catalog: longCatalog,
		}
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.Replace(args[i], "FILE", file, 1)
		}
		if status := a.run(args); status != cli.Yes {
			t.Fatalf("%s: status %d: %s", line, status, e.String())
		}
		shown[line] = o.String()
	}
	var o bytes.Buffer
	a := &app{out: toPeople(&o), ascii: ascii}
	a.toRead()
	r := troubled()
	fmt.Fprint(a.out, printable(statusText(r, width)))
	shown["status"] = o.String()
	o.Reset()
	costs := []probe.Cost{{Source: "interfaces and what is behind them", Metrics: 120, Values: 123456, Took: 12345678 * time.Microsecond},
		{Source: "proc", Metrics: 1, Values: 2, Took: time.Microsecond, Err: errors.New("open /proc/a/file/whose/name/has/no/end/at/all: permission denied")}}
	if err := printCosts(a.out, costs, costs, width); err != nil {
		t.Fatal(err)
	}
	shown["costs"] = o.String()
	return shown
}

func longCatalog() []*metric.Desc {
	return []*metric.Desc{
		{Name: "smc.temperature.of.the.processor.package", Type: metric.F32, Sem: metric.Instant, Class: metric.Polled, Help: "temperature",
			Unsupported: "Linux has no SMC, and what stands for it here is read from /sys/class/hwmon/hwmon0/temp1_input/of/another/place"},
		{Name: "disk.share", Type: metric.F64, Sem: metric.Instant, Indom: "disk", Class: metric.Polled, Help: "share", Formula: "rate(disk.time)/1000+rate(disk.time)+rate(disk.time)+rate(disk.time)"},
	}
}

// troubled is a recorder of which there is much to say.
func troubled() *service.Report {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &service.Report{
		Running: true, Now: now, ValuesPerSecond: 1290123.4, BytesPerDay: 20 << 30, DaysKept: 3651.5, DaysFit: 3000, Problems: []string{"the disk of /var/lib/tachograph/archives/of/this/machine is full"},
		Status: service.Status{
			PID: 4194303, At: now, Started: now.Add(-2600 * time.Hour), Values: 120_812_345_678, TCPGate: "closed, but open to root",
			Classes: []service.ClassStatus{
				{Class: "constrained", IntervalSeconds: 10, Stretched: true, Ticks: 93600000, Overruns: 3123, LastTick: now.Add(-4 * time.Second), TookSeconds: 1100.011, MaxLateSeconds: 2000.2},
			},
			Sources:      []service.SourceStatus{{Source: "interfaces and what is behind them", Reads: 1000000, TotalSeconds: 1, Hung: true, Timeouts: 4000, LastSeconds: 1234}},
			Archive:      service.ArchiveStatus{Path: "/var/lib/tachograph/archives/somebodys-macbook-pro-20260302T090004Z.live", Bytes: 10 << 20, Since: now.Add(-12 * time.Hour)},
			LastShipping: &service.Shipping{At: now, Path: "/var/lib/tachograph/archives/北京北京北京北京北京北京北京北京北京北京.tacho", Error: "no route", Waiting: 1},
		},
	}
}

var aNumber = regexp.MustCompile(`^[-+]?[0-9][0-9.:,]*(…|~)?$`)

func numbersOf(text string) []string {
	var list []string
	for _, w := range strings.Fields(text) {
		if w = strings.Trim(w, "(),;"); aNumber.MatchString(w) {
			list = append(list, strings.TrimRight(w, "…~"))
		}
	}
	return list
}

// tookTimes are what readings took, which differs from one to the next.
var tookTimes = regexp.MustCompile(`\d+ [µu]s`)

// TestEveryScreenFits: on a terminal no line is longer than it is wide, no number is
// cut, and where the locale has no other letters there are none.
func TestEveryScreenFits(t *testing.T) {
	dir := t.TempDir()
	all := screens(t, dir, 0, false)
	for _, width := range []int{40, 45, 50, 55, 60, 66, 72, 79, 80, 81, 90, 100, 110, 120, 132, 160, 200, 250} {
		for _, ascii := range []bool{false, true} {
			for name, out := range screens(t, dir, width, ascii) {
				for line := range strings.Lines(out) {
					if n := wide(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%s in %d columns: %d: %s", name, width, n, line)
						break
					}
				}
				if i := strings.IndexFunc(out, func(r rune) bool { return r >= 0x80 }); ascii && i >= 0 {
					t.Errorf("%s: %q", name, out[i:])
				}
				whole := numbersOf(all[name])
				for _, n := range numbersOf(tookTimes.ReplaceAllString(out, "")) {
					// A line may end inside the path.
					if !slices.Contains(whole, n) && !strings.Contains(dir, n) {
						t.Errorf("%s in %d columns: there is %s, which is no number of the answer", name, width, n)
						break
					}
				}
			}
		}
	}
	// Where there is room all of it is used.
	if out := screens(t, dir, 250, false)["metrics"]; !strings.Contains(out, "of/another/place") {
		t.Error(out)
	}
}
