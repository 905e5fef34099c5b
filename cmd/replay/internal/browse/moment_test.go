package browse

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
	"tachograph/store/storetest/proof"
)

// What stands beside a lane is what the page below it shows of the same moment, also
// where a column holds minutes of very different values.
func TestLanesAndPageAgree(t *testing.T) {
	r := newRig(t, linux(t), look{width: 80, height: 24, at: at(3*time.Hour + 2*time.Minute)})
	r.keys("1")
	for _, step := range []time.Duration{0, time.Minute, 20 * time.Minute, time.Hour} {
		r.a.goTo(at(3*time.Hour + step))
		r.settle()
		figures := make(map[string]moment.Figure)
		for _, s := range r.a.shownMoment.Sections {
			for _, f := range s.Figures {
				figures[s.Name+" "+f.Name] = f
			}
		}
		for i, l := range r.a.lanes {
			x := r.a.shownMoment.Lanes[i]
			var want float64
			switch l.Name {
			case "memory":
				want = figures["memory used"].Value
			case "disk":
				want = figures["disk read"].Value + figures["disk write"].Value
			case "cpu":
				want = figures["cpu user"].Value + figures["cpu system"].Value
			default:
				continue
			}
			if laneValue(l, x) != laneValue(l, want) {
				t.Errorf("after %s the lane %s is %s, the page says %s", step, l.Name, laneValue(l, x), laneValue(l, want))
			}
			if row := r.rows()[1+i]; !strings.HasPrefix(row, l.Title) || !strings.Contains(row, laneValue(l, x)) {
				t.Errorf("%q does not show %s", row, laneValue(l, x))
			}
		}
		for _, name := range []string{"load load1", "load load5", "load load15"} {
			if f := figures[name]; !f.Known() {
				t.Errorf("%s is absent: %s", name, f.Absent)
			}
		}
	}
}

// On one line a column is as high as its highest value.
func TestPeaksOfOneLine(t *testing.T) {
	r := newRig(t, newFake(time.Hour), look{width: 80, height: 24})
	r.a.shownTimeline = &moment.Timeline{Columns: 3, From: r.a.from, To: r.a.to}
	r.a.drawTrack(rect{0, 0, 3, 1}, &moment.Track{Mean: []float64{0.1, 0.1, 0.5}, High: []float64{0.1, 1, 0.5}, Scale: 1})
	r.a.c.Show()
	if got := string([]rune(r.rows()[0])[:3]); got != "▁█▄" {
		t.Errorf("bars are %q", got)
	}
}

// A text that is offered is replaced by what is typed, kept by who moves or takes it,
// and gone when it is deleted.
func TestOfferedText(t *testing.T) {
	proof.Unraced(t)
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"'name=sys'"}, "name=sys"}, {[]string{"End", "'x'"}, "nginxx"}, {nil, "nginx"}, {[]string{"Backspace"}, ""}, {[]string{"Delete", "'gzip'"}, "gzip"},
		{[]string{"Left", "Backspace"}, "ngix"},
	} {
		r := newRig(t, linux(t), look{width: 80, height: 24})
		r.keys("/", "'nginx'", "Enter", "/")
		r.keys(c.keys...)
		if got := r.a.prompt.text; got != c.want {
			t.Errorf("%v makes %q of what was offered, want %q", c.keys, got, c.want)
		}
	}
	r := newRig(t, linux(t), look{width: 80, height: 24})
	r.keys("f", "'cpu>90%'", "Enter", "f", "'cpu>10%'")
	if got := r.a.prompt.text; got != "cpu>10%" {
		t.Errorf("find when goes on from %q", got)
	}
}

// However deep a tree is, names have room.
func TestTreeHasNames(t *testing.T) {
	r := newRig(t, newFake(time.Hour), look{width: 80, height: 40})
	m := &moment.Moment{At: r.a.at}
	for i := range 25 {
		m.Processes = append(m.Processes, &moment.Process{Key: fmt.Sprint(i + 1), Process: &query.Process{PID: i + 1, PPID: i, Name: fmt.Sprintf("worker-%02d", i), User: "root"}})
	}
	r.a.shownMoment, r.a.momentWhen, r.a.tree, r.a.page = m, r.a.at, true, pageProcesses
	r.a.draw()
	r.a.c.Show()
	seen := 0
	for _, row := range r.rows() {
		if strings.Contains(row, "worker-") {
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("%d names are seen:\n%s", seen, strings.Join(r.rows(), "\n"))
	}
}

// What is asked for before a recording shows its first sample, and says so.
func TestBeginBeforeTheRecording(t *testing.T) {
	r := newRig(t, linux(t), look{width: 80, height: 24, at: at(-time.Hour)})
	r.need("before the recording")
	if m := r.a.shownMoment; m.At == 0 || len(m.Sections) == 0 || len(m.Processes) == 0 {
		t.Errorf("shown is the sample of %s with %d processes", r.a.clock(m.At), len(m.Processes))
	}
}

// A full processor stands out, and so does an empty battery, but not a full one.
func TestLevelsThatStandOut(t *testing.T) {
	r := newRig(t, linux(t), look{width: 80, height: 24, color: true, at: at(3 * time.Hour)})
	cpu, battery := moment.Track{Lane: moment.Lane{Share: true}}, moment.Track{Lane: moment.Lane{Share: true, Supply: true}}
	for _, c := range []struct {
		of     *moment.Track
		value  float64
		alarms bool
	}{{&cpu, 0.95, true}, {&cpu, 0.05, false}, {&battery, 1, false}, {&battery, 0.05, true}, {&battery, math.NaN(), false}} {
		if got := r.a.levelStyle(c.of, c.value) == r.a.c.theme.alarm; got != c.alarms {
			t.Errorf("%v of a lane with supply %v stands out: %v", c.value, c.of.Supply, got)
		}
	}
}
