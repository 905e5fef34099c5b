package darwin

import (
	"fmt"
	"strings"
	"testing"
)

// Each kernel has memory statistics of its own length, and two habits: macOS 26 logs
// every call that asks for more than it has, and 27 repeats its newest answer to whoever
// asks for less, as a refusal. No value is lost by either, and no line is logged, also
// where other programs have all fresh answers.
func TestMemoryStatisticsOfEveryLength(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for _, c := range []struct {
		words  int
		newest string
	}{{38, "no"}, {40, "no"}, {62, "no"}, {66, "yes"}, {104, "yes"}} {
		for _, limit := range []string{"no", "yes", "taken"} {
			t.Run(fmt.Sprintf("%d words, cached newest %s, limited %s", c.words, c.newest, limit), func(t *testing.T) {
				scn := write(t, fmt.Sprintf("host { root yes; vm_words %d; vm_cached_newest %s; rate_limit %s }", c.words, c.newest, limit))
				r := m.run(t, scn, runOptions{rounds: 6, period: "1100ms", only: "fast"})
				for round := range r.rounds {
					for _, metric := range []string{"mem.freemem", "mem.pages.faults", "mem.compressions", "mem.util.used"} {
						if x := r.at(t, round, metric, ""); x.value == "" {
							t.Errorf("round %d: %s is absent: %s", round, metric, x.absent)
						}
					}
					if round > 0 && r.number(t, round, "mem.pages.faults", "") <= r.number(t, round-1, "mem.pages.faults", "") {
						t.Errorf("round %d: the faults are those of before", round)
					}
				}
				if strings.Contains(r.report, "kernel log:") {
					t.Errorf("the kernel had something to log:\n%s", r.report)
				}
			})
		}
	}
}

// What is repeated within a second is no measurement on 27 either.
func TestRepeatedNewestAnswersAreStale(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, "host { vm_words 104; vm_cached_newest yes; rate_limit taken }"), runOptions{rounds: 16, period: "250ms", only: "fast"})
	for _, metric := range []string{"mem.pages.faults", "mem.compressions"} {
		last, stale, fresh := "", 0, 0
		for round := range r.rounds {
			switch x := r.at(t, round, metric, ""); {
			case x.absent == "stale":
				stale++
			case x.value == "" || x.value == last:
				t.Errorf("round %d: %s %q (%s) passes for a new answer", round, metric, x.value, x.absent)
			default:
				last = x.value
				fresh++
			}
		}
		if stale == 0 || fresh < 3 {
			t.Errorf("%s: %d answers were stale and %d fresh", metric, stale, fresh)
		}
	}
}
