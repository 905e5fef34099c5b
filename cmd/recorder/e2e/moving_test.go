//go:build linux && amd64

package e2e

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// begun is when the scenarios of these tests begin by their wall clock.
var begun = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

const beginning = "\nclock wall 2025-06-15T12:00:00\n"

// since is when something was on the clock of a scenario without breaks.
func since(at time.Time) float64 { return at.Sub(begun).Seconds() }

// course is what every metric is at successive moments.
type course struct {
	step   float64
	values []map[darwintest.Series]string
}

func follow(world *darwintest.World, length, step float64) *course {
	c := &course{step: step}
	for k := 0; float64(k)*step <= length; k++ {
		world.T = float64(k) * step
		c.values = append(c.values, world.Expect().Values)
	}
	return c
}

// allows reports whether a series may have been read as value at time t, or a
// little later: slack is how much.
func (c *course) allows(s darwintest.Series, value string, t, slack float64) bool {
	from := max(0, int((t-c.step)/c.step))
	to := min(len(c.values)-1, int(math.Ceil((t+slack)/c.step)))
	least, most := math.Inf(1), math.Inf(-1)
	for k := from; k <= to; k++ {
		want, there := c.values[k][s]
		if there && same(value, want) {
			return true
		}
		if x, err := strconv.ParseFloat(want, 64); err == nil {
			least, most = min(least, x), max(most, x)
		}
	}
	x, err := strconv.ParseFloat(value, 64)
	return err == nil && x >= least && x <= most
}

// TestMoving records machines on which everything moves, and expects every
// value to be one that the scenario has at that moment.
func TestMoving(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"macbook-m.scn", "intel.scn"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := simulated(t)
			s := machine(t, "include \""+name+"\"\nhost { root yes; rate_limit no; processor_set { task_count 300; thread_count 1500 } }"+beginning)
			s.config = everything
			s.recordFrom(8, "15s", 10)
			world, err := darwintest.Load(s.scenario, p.Shipped)
			if err != nil {
				t.Fatal(err)
			}
			got := s.values("*")
			end := 0.0
			for _, r := range got[darwintest.Series{Metric: "kernel.all.cpu.user"}] {
				end = max(end, since(r.at))
			}
			c := follow(world, end+3, 0.5)
			var wrong complaints
			series, exact := make(map[darwintest.Series]bool), 0
			for k, readings := range got {
				if _, known := c.values[0][k]; !known || world.Expect().Free[k.Metric] {
					continue
				}
				for _, r := range readings {
					at := since(r.at)
					switch {
					case r.absent != "" && !strings.Contains(r.absent, "stale"):
						wrong.add("%s[%s] is absent at %.2f s: %s", k.Metric, k.Instance, at, r.absent)
					case r.absent == "" && !c.allows(k, r.value, at, 1):
						wrong.add("%s[%s] = %s at %.2f s; the scenario says %s", k.Metric, k.Instance, r.value, at, c.values[min(int(at/c.step), len(c.values)-1)][k])
					default:
						series[k] = true
						exact++
					}
				}
			}
			wrong.tell(t)
			t.Logf("%d values of %d series are the scenario's at their moment", exact, len(series))
			if len(series) < 1500 {
				t.Errorf("only %d series were judged", len(series))
			}
			s.judgeRates(map[string]float64{
				"rate(disk.dev.read)": 110, "rate(network.interface.in.bytes[en0])": 350000, "rate(mem.pages.faults)": 11800,
				"disk.dev.await": (30e6 + 12e6) / (110 + 60), "disk.all.await": (30e6 + 12e6) / (110 + 60),
				"disk.dev.avgrq_sz": (2097152 + 1048576) / (110 + 60.0), "disk.all.avgrq_sz": (2097152 + 1048576) / (110 + 60.0),
			})
		})
	}
}

// judgeRates expects expressions to be what they are to be, where they have a
// value.
func (s *session) judgeRates(want map[string]float64) {
	s.t.Helper()
	for expression, rate := range want {
		n := 0
		for _, r := range s.rows("values", expression, "--step", "12s") {
			if r["value"] == nil {
				continue
			}
			n++
			x, err := strconv.ParseFloat(r.text("value"), 64)
			if err != nil || math.Abs(x-rate) > 0.03*rate {
				s.t.Errorf("%s = %s, want %v", expression, r.text("value"), rate)
			}
		}
		if n == 0 {
			s.t.Errorf("%s has no value", expression)
		}
	}
}
