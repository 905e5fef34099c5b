// Package pcptest runs the programs of Performance Co-Pilot for tests: programs that print the
// contents of an archive, and programs that record one.
package pcptest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
)

// Run runs one of PCP's programs, which must succeed and print nothing to stderr.
func Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	// PCP's Python programs need the system's Python.
	cmd.Env = append(os.Environ(), "TZ=UTC", "PATH=/usr/bin:"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// A Value is a value that pmdumplog prints.
type Value struct {
	At       time.Time
	Metric   string
	ID       int64 // -1 for the value of a metric without instances
	Instance string
	Text     string // as printed; without quotes if it is a string
}

// A Dump is what pmdumplog prints of an archive.
type Dump struct {
	Values []Value
	Errors int // metrics that had an error instead of values
	Empty  int // metrics that had no values
	Marks  []time.Time
}

var (
	timeLine  = regexp.MustCompile(`^(?:\w{3} \w{3} [ \d]\d )?(\d\d:\d\d:\d\d\.\d+) +(\d+ metrics?|<mark>)`)
	valueLine = regexp.MustCompile(`^    \d+\.\d+\.\d+ \(([^)]*)\): ?(.*)$`)
	// furtherLine matches a line that is not inside a string, which may be a whole script.
	furtherLine = regexp.MustCompile(`^    (?: +(?:inst \[-?\d+ or |value |Error)|end$)`)
	instText    = regexp.MustCompile(`^inst \[(-?\d+) or (?:"(.*)"|\?\?\?)\] value (.*)$`)
)

// Values returns what pmdumplog prints of the values of an archive that lasts less than a day
// and began on day.
func Values(t testing.TB, base string, day time.Time) *Dump {
	t.Helper()
	d := &Dump{}
	at, last := time.Time{}, time.Time{}
	name := ""
	day = day.UTC().Truncate(24 * time.Hour)
	text := strings.Builder{} // of the last value, which may have several lines
	for _, line := range append(strings.Split(Run(t, "pmdumplog", base), "\n"), "    end") {
		m := valueLine.FindStringSubmatch(line)
		if m == nil && !timeLine.MatchString(line) && !furtherLine.MatchString(line) {
			if text.Len() > 0 {
				text.WriteString("\n" + line)
			}
			continue
		}
		if n := len(d.Values); text.Len() > 0 {
			d.Values[n-1].Text = unquote(strings.TrimRight(text.String(), "\n"))
		}
		text.Reset()
		if m := timeLine.FindStringSubmatch(line); m != nil {
			clock, err := time.Parse("15:04:05.999999999", m[1])
			if err != nil {
				t.Fatal(err)
			}
			at = day.Add(clock.Sub(clock.Truncate(24 * time.Hour)))
			if at.Before(last) {
				day = day.AddDate(0, 0, 1)
				at = at.AddDate(0, 0, 1)
			}
			last = at
			if m[2] == "<mark>" {
				d.Marks = append(d.Marks, at)
			}
			continue
		}
		rest := strings.TrimSpace(line)
		if m != nil {
			name, rest = m[1], m[2]
		}
		switch {
		case strings.HasPrefix(rest, "inst ["):
			m := instText.FindStringSubmatch(rest)
			if m == nil {
				t.Fatalf("pmdumplog says %q", line)
			}
			id, _ := strconv.ParseInt(m[1], 10, 64)
			d.Values = append(d.Values, Value{At: at, Metric: name, ID: id, Instance: m[2]})
			text.WriteString(m[3])
		case strings.HasPrefix(rest, "value "):
			d.Values = append(d.Values, Value{At: at, Metric: name, ID: -1})
			text.WriteString(rest[len("value "):])
		case strings.HasPrefix(rest, "No values returned"):
			d.Empty++
		case strings.HasPrefix(rest, "Error"):
			d.Errors++
		}
	}
	if len(d.Values) == 0 {
		t.Fatalf("pmdumplog tells no values of %s", base)
	}
	return d
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// numbered matches the number at the beginning of a process's name.
var numbered = regexp.MustCompile(`^(\d{6,}) `)

// Who identifies an instance by its name, or a process by its number: if it was renamed, PCP's
// programs print its last name throughout, or none at all.
func Who(name string) string {
	if m := numbered.FindStringSubmatch(name); m != nil {
		return "#" + strings.TrimLeft(m[1], "0")
	}
	return name
}

// Who identifies the instance of value v.
func (v *Value) Who() string {
	if v.Instance == "" && v.ID >= 0 {
		return "#" + strconv.FormatInt(v.ID, 10)
	}
	return Who(v.Instance)
}

// Checked fails if pmlogcheck finds anything. It ignores counters that really fall, which
// pmlogcheck takes for wrapped ones.
func Checked(t testing.TB, base string) {
	t.Helper()
	out, err := exec.Command("pmlogcheck", "-w", base).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("pmlogcheck: %v\n%s", err, out)
	}
}

// Log records this machine with pmcd and pmlogger for a few seconds, with the given
// configuration, and returns the name of the archive.
func Log(t testing.TB, version int, seconds float64, conf string) string {
	t.Helper()
	pmcdtest.Need(t, "pmlogger")
	d := pmcdtest.Start(t, pmcdtest.Config{
		Agents: []pmcdtest.Agent{pmcdtest.PMCD, pmcdtest.Linux, pmcdtest.Proc, pmcdtest.Sample},
		Names:  []string{pmcdtest.Own(t), sampleNames},
		For:    []string{"kernel.all.load", "proc.nprocs"},
	})
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	base := path(fmt.Sprintf("log%d", version))
	out, err := d.Try("pmlogger", "-c", path("conf"), "-T", fmt.Sprintf("%gsec", seconds), "-V", strconv.Itoa(version), "-l", path("pmlogger.log"), base)
	if err != nil {
		said, _ := os.ReadFile(path("pmlogger.log"))
		t.Fatalf("pmlogger: %v\n%s%s", err, out, said)
	}
	return base
}

// sampleNames are metrics of the agent called sample, of each type.
const sampleNames = `root { sample }
sample {
	colour 29:0:5
	bin 29:0:6
	long
	ulonglong
	longlong
	float
	double
	string
	aggregate
}
sample.long { million 29:0:13 bin 29:0:103 }
sample.ulonglong { million 29:0:101 bin_ctr 29:0:112 }
sample.longlong { million 29:0:23 bin 29:0:109 }
sample.float { million 29:0:18 bin 29:0:107 }
sample.double { million 29:0:28 bin_ctr 29:0:114 }
sample.string { null 29:0:30 hullo 29:0:31 bin 29:0:153 }
sample.aggregate { hullo 29:0:34 }
`

// Same reports whether a text that pmdumplog printed is the value. C prints floats a little
// differently from Go: 1e+06 for 1000000 only beyond its digits.
func Same(typ metric.Type, v metric.Value, text string) bool {
	if !typ.Float() {
		return v.String() == text
	}
	digits := 16
	if typ == metric.F32 {
		digits = 8
	}
	got, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	want, _ := strconv.ParseFloat(strconv.FormatFloat(v.Number(), 'g', digits, 64), 64)
	return got == want || got != got && want != want
}
