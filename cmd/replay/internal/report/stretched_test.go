package report

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query/querytest"
)

// described is an archive of a description.
func described(t *testing.T, text string) *querytest.Archive {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

// processesHead describes a host with two processes.
const processesHead = `start 2026-11-20T03:00:00Z
host box id=h1 os=Linux release=6.18 arch=amd64 platform=linux cpus=2 memory=1073741824
interval process 5s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.io.read_bytes u64 counter process process byte
metric proc.memory.rss u64 instant process process Kbyte
boot b1 -1h
instance process 612 000612 steady pid=612 parent=1 start=2026-11-20T02:14:00Z
instance process 613 000613 other pid=613 parent=1 start=2026-11-20T02:14:00Z
`

// readings describes readings of both from one instant to another.
func readings(step, from, to int) string {
	return fmt.Sprintf(`every %ds %ds %ds process
  proc.psinfo.utime[612] rate=500
  proc.io.read_bytes[612] rate=4096
  proc.memory.rss[612] level=1024
  proc.psinfo.utime[613] rate=250
  proc.memory.rss[613] level=2048
`, step, from, to)
}

// A recorder that costs more than it may reads processes less often than was planned:
// the stacks go on all the same, and stop where nothing was read.
func TestStretchedReadings(t *testing.T) {
	const hours = 5 * 3600
	a := described(t, processesHead+readings(5, 0, 600)+readings(10, 610, 620)+readings(20, 640, 640)+readings(40, 680, 9000)+
		"event 9600s gap | nothing was recorded | from=2026-11-20T05:30:00Z seconds=600\n"+readings(40, 9600, hours))
	for _, columns := range []int{0, 100} {
		u := unpack(t, collect(t, a, Request{Columns: columns}))
		for _, c := range []struct {
			plot, line string
			want       float64
		}{
			{"processes-cpu", "steady", 0.5}, {"processes-cpu", "other", 0.25}, {"processes-io", "steady", 4096},
			{"processes-memory", "steady", 1 << 20}, {"processes-memory", "other", 2 << 20},
		} {
			p := u.plot(c.plot)
			if p == nil {
				t.Fatalf("no plot %s", c.plot)
			}
			var line *Line
			for _, l := range p.Series {
				if l.Name == c.line {
					line = l
				}
			}
			holes := 0
			for k, x := range u.numbers(line.Mean) {
				begin, end := u.First/1000+float64(k)*u.Step/1000-u.From/1000, u.First/1000+float64(k+1)*u.Step/1000-u.From/1000
				inGap := begin >= 9000 && end < 9595
				switch {
				case end <= 5 || k == u.Columns-1: // The first reading tells of no time before it.
				case inGap != (x != x) && (inGap || begin < 8995 || end > 9640):
					holes++
				case x == x && !near(x, c.want):
					t.Fatalf("%s: %s at %g s: %g, want %g", c.plot, c.line, end, x, c.want)
				}
			}
			if holes > 0 {
				t.Errorf("%d columns, %s: %s has %d columns too few or too many", u.Columns, c.plot, c.line, holes)
			}
		}
	}
}

// What was zero throughout is not among the smaller ones that a plot does not show.
func TestSmallerOnes(t *testing.T) {
	text := `start 2026-11-20T03:00:00Z
host box id=h1 os=Linux release=6.18 arch=amd64 platform=linux cpus=2 memory=1073741824
interval fast 1s
metric disk.dev.read_bytes u64 counter disk fast Kbyte
metric disk.dev.write_bytes u64 counter disk fast Kbyte
boot b1 -1h
`
	values := "every 1s 0s 60s fast\n"
	for i := range 30 {
		text += fmt.Sprintf("instance disk sd%d sd%d\n", i, i)
		rate := 0
		if i%3 == 0 {
			rate = 100 + i // Ten of thirty.
		}
		values += fmt.Sprintf("  disk.dev.read_bytes[sd%d] rate=%d\n  disk.dev.write_bytes[sd%d] rate=0\n", i, rate, i)
	}
	p := unpack(t, collect(t, described(t, text+values), Request{})).plot("disk")
	if p == nil || p.More != 2 {
		t.Errorf("plot %+v", p)
	}
}
