package pcpimport

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/internal/pcp/pcparchive/pcptest"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/rewrite"
)

// what pmlogger records for the tests: metrics of each type, with instances that come
// and go, aggregates and strings.
const logged = `log mandatory on 250 msec {
	kernel.all.load kernel.all.cpu kernel.percpu.cpu kernel.all.uptime kernel.uname mem.util network.interface.in
	proc.psinfo.pid proc.psinfo.utime proc.psinfo.stime proc.psinfo.start_time proc.psinfo.threads proc.psinfo.sname
	proc.psinfo.psargs proc.psinfo.exe proc.psinfo.age proc.memory.rss proc.memory.vmsize proc.nprocs disk.dev filesys }
log mandatory on 1 sec { hinv sample }
`

// valueKey is where a value of an archive stands: when, of what and of whom.
type valueKey struct {
	at       int64
	metric   string
	instance string
}

// held are the values of an archive of ours.
func held(t testing.TB, path string) map[valueKey]metric.Value {
	t.Helper()
	all := make(map[valueKey]metric.Value)
	for it, err := range rewrite.Read(rewrite.ReadOptions{NoEvents: true, Note: func(l store.Loss) { t.Error(l.What) }}, path) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range it.Tick.Blocks {
			for i, in := range b.Rows {
				name := ""
				if in != nil {
					name = pcptest.Who(pcp.InstanceName(pcp.Title(b.Group.Indom, in)))
				}
				for c, d := range b.Group.Metrics {
					v := b.Cols[c].At(d.Type, i)
					if v.Miss == metric.Present {
						all[valueKey{b.At.Wall, d.Name, name}] = v
					}
				}
			}
		}
	}
	return all
}

// Whatever pmlogger wrote is there afterwards, each value and each time, in both
// versions, plain and compressed, by what pmdumplog tells.
func TestPmloggersArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("records for some seconds")
	}
	pmcdtest.Need(t, "pmdumplog", "pmlogger")
	script := exec.Command("sh", "-c", "# arguments are whole scripts\n\n    \"of lines\"\nread forever\n\n")
	if stdin, err := script.StdinPipe(); err != nil || script.Start() != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(func() { stdin.Close(); _ = script.Wait() })
	}
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			base := pcptest.Log(t, version, 2, logged)
			dump := pcptest.Values(t, base, day(t, base))
			dir, report := brought(t, base)
			compare(t, dump, held(t, dir))
			left := strings.Join(report.Left, "\n")
			if !strings.Contains(left, "sample.aggregate.hullo holds values of the type aggregate") {
				t.Errorf("of what is left out it says %q", left)
			}
			if len(report.Notes) > 0 || report.Boots != 1 || report.Host.OS != "Linux" {
				t.Errorf("%+v", report)
			}
			again := exported(t, dir, query.Window{})
			compare(t, pcptest.Values(t, again, day(t, base)), held(t, dir))
			pcptest.Checked(t, again)
			for _, tool := range []string{"gzip", "xz", "bzip2"} {
				packed := filepath.Join(t.TempDir(), "packed")
				for _, part := range []string{".meta", ".0", ".index"} {
					b, err := os.ReadFile(base + part)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(packed+part, b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if out, err := exec.Command(tool, packed+".0", packed+".meta").CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				dir, _ := brought(t, packed)
				compare(t, dump, held(t, dir))
			}
		})
	}
}

// day is when an archive begins.
func day(t testing.TB, base string) time.Time {
	r, err := pcparchive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return time.Unix(0, r.Label.Start)
}

// compare holds what pmdumplog tells against what an archive of ours has.
func compare(t *testing.T, dump *pcptest.Dump, ours map[valueKey]metric.Value) {
	t.Helper()
	wrong, told := 0, 0
	for _, v := range dump.Values {
		if strings.HasPrefix(v.Metric, "sample.aggregate") || strings.HasPrefix(v.Metric, "tachograph.") {
			continue
		}
		for _, name := range strings.Split(v.Metric, " or ") {
			told++
			key := valueKey{v.At.UnixNano(), name, v.Who()}
			got, ok := ours[key]
			if !ok || !pcptest.Same(got.Type, got, v.Text) {
				if wrong++; wrong < 10 {
					t.Errorf("%v %s[%s] is %s by pmdumplog, and %v (%v) here", v.At, name, v.Instance, v.Text, got, ok)
				}
			}
		}
	}
	if wrong > 0 || told < 100 || told != len(ours) {
		t.Errorf("of %d values that pmdumplog tells %d are others here, where %d are", told, wrong, len(ours))
	}
}

// Importing the same again gives the same archive, but for its number.
func TestSameAgain(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	handmade(t, base)
	a, _ := brought(t, base)
	b, _ := brought(t, base)
	if x, y := fmt.Sprint(held(t, a)), fmt.Sprint(held(t, b)); x != y || !bytes.Contains([]byte(x), []byte("#1}")) {
		t.Errorf("%s\n%s", x, y)
	}
}
