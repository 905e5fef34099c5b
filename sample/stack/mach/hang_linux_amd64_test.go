package mach

import (
	"strings"
	"testing"
)

// A call that never returns costs one session and one thread. What needed the call is given
// up, and everything else is still sampled.
func TestCallsThatNeverReturn(t *testing.T) {
	t.Parallel()
	const first, second, all = "sample 700 2s 100", "sample 702 1s 100", "sample 0 600ms 100"
	for name, c := range map[string]struct{ scenario, call, how string }{
		"opening":    {"delay task_read_for_pid never\n", "task_for_pid", "how stackshot"},
		"suspending": {"delay task_suspend2 never pid 700\n", "task_suspend2", "how mach"},
		"listing":    {"delay task_threads never\n", "task_threads", "how stackshot"},
		"registers":  {"delay thread_get_state never pid 700\n", "thread_get_state", "how stackshot"},
		"a thread":   {"delay thread_info never pid 700\n", "thread_info", "how stackshot"},
		"images":     {"delay task_info never pid 700\n", "task_info", "how stackshot"},
		"reading":    {"delay mach_vm_read_overwrite never pid 700\n", "mach_vm_read", "how stackshot"},
	} {
		t.Run(name, func(t *testing.T) {
			o := simulated(t).run(t, frozen+c.scenario, first+";"+second+";"+all, "--speed", "10")
			p := o.part(t, first)
			if p.statistic(t, "hung") != 1 || p.statistic(t, "samples") == 0 || !strings.Contains(p.text, c.how) || !strings.Contains(p.text, "why "+c.call+" did not return") || !strings.Contains(p.text, "hung 1 ["+c.call+"]") {
				t.Errorf("the session in which it hangs:\n%s", p.text)
			}
			for _, later := range []string{second, all} {
				if p := o.part(t, later); p.statistic(t, "hung") != 0 || p.statistic(t, "tasks") != 0 || p.statistic(t, "samples") == 0 || !strings.Contains(p.text, "how stackshot") {
					t.Errorf("%s, after that:\n%s", later, p.text)
				}
			}
			if n := strings.Count(o.report, "refused: "); n != 0 {
				t.Errorf("something was asked for in vain:\n%s", o.report)
			}
		})
	}
	t.Run("for an ordinary user", func(t *testing.T) {
		o := simulated(t).tidy(t, frozen+"host { root no; taskgated allow }\nself { as_uid 501 }\ndelay task_read_for_pid never\n", first+";"+second, "--speed", "10")
		for command, hung := range map[string]int{first: 1, second: 0} {
			if p := o.part(t, command); p.statistic(t, "hung") != hung || p.statistic(t, "samples") != 0 || !strings.Contains(p.text, "task_for_pid did not return") {
				t.Errorf("%s:\n%s", command, p.text)
			}
		}
	})
	// A read that hangs while the process is suspended: the guard lets the process continue.
	t.Run("reading what is suspended", func(t *testing.T) {
		const alone = "sample 703 2s 100"
		o := simulated(t).run(t, frozen+`
process 703 { name alone; thread 0x771 { state 1; stack 0x10 0x20 } }
delay mach_vm_read_overwrite never pid 703
`, alone, "--speed", "10")
		if p := o.part(t, alone); p.statistic(t, "hung") != 1 || !strings.Contains(o.report, "suspensions: 1,") || !strings.Contains(o.report, " 0 suspended threads") ||
			strings.Contains(o.report, "left suspended") {
			t.Errorf("%s\n%s", p.text, o.report)
		}
	})
	// Nothing can be sampled of which nothing is known; the next session does not try.
	t.Run("processes", func(t *testing.T) {
		o := simulated(t).tidy(t, frozen+"delay proc_pidinfo never pid 700\n", first+";"+second+";"+all, "--speed", "10")
		for command, hung := range map[string]int{first: 1, second: 0, all: 0} {
			if p := o.part(t, command); p.statistic(t, "hung") != hung || p.statistic(t, "samples") != 0 || !strings.Contains(p.text, "error proc_pidinfo did not return") {
				t.Errorf("%s:\n%s", command, p.text)
			}
		}
	})
	t.Run("stackshots", func(t *testing.T) {
		o := simulated(t).tidy(t, frozen+"delay stack_snapshot_with_config never\n", all+";"+second+";"+all, "--speed", "10")
		if p := o.part(t, second); p.statistic(t, "hung") != 0 || !strings.Contains(p.text, "how mach") {
			t.Errorf("a task, which needs none:\n%s", p.text)
		}
		if n := strings.Count(o.out, "error stack_snapshot_with_config did not return"); n != 2 || strings.Count(o.out, "hung 1 ") != 1 {
			t.Errorf("%d sessions were told so, with one that hung:\n%s", n, o.out)
		}
	})
}

// If a call returns after it was given up, nothing stays suspended, and a session that is
// over gets nothing.
func TestCallsThatReturnLate(t *testing.T) {
	t.Parallel()
	const first, second = "sample 700 2s 100", "sample 702 20s 1"
	for _, call := range []string{"task_read_for_pid", "task_suspend2"} {
		t.Run(call, func(t *testing.T) {
			o := simulated(t).tidy(t, world+"delay "+call+" never pid 700 until 15\n", first+";"+second, "--speed", "10")
			if p := o.part(t, first); p.statistic(t, "hung") != 1 {
				t.Errorf("the session in which it hangs:\n%s", p.text)
			}
			if call == "task_suspend2" && !strings.Contains(o.report, "suspensions: 1,") {
				t.Errorf("the suspension did not come to be:\n%s", o.report)
			}
		})
	}
}
