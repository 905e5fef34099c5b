package proc

import (
	"fmt"
	"testing"

	"tachograph/sample/metric"
)

// The sizes are those of the releases of macOS.
func TestMacCoalitions(t *testing.T) {
	t.Parallel()
	for size, release := range map[int]int{280: 12, 296: 14, 352: 15, 360: 26, 400: 27} {
		t.Run(fmt.Sprintf("macOS %d", release), func(t *testing.T) {
			t.Parallel()
			r := runWith{at: "5 15 25 35", classes: "process", override: fmt.Sprintf(`
clear process
host { forks 0; coalition_size %d }
process 0 { name kernel_task; path ""; ppid 0 }
process 1 { name launchd; path "/sbin/launchd"; ppid 0 }
process 700 { name app; path "/opt/app"; ppid 1; uid 501; coalition 71 72; start -50; user_ns counter 0 1000000000; energy_nj counter 0 1000
  idle_wkups 3; int_wkups 4; disk_read 5; disk_write 6; instructions 7; cycles 8; logical_writes 9; footprint 10000 }
process 701 { name helper; path "/opt/helper"; ppid 1; uid 501; coalition 71 72; start -40; exit 10; zombie 0; energy_nj 50; user_ns 3000; footprint 5000 }
process 702 { name job; path "/opt/job"; ppid 1; uid 501; coalition 91 92; start 8; exit 20; zombie 0; energy_nj 60 }
coalition 71 { gpu_energy_nj 11; ane_energy_nj 12; ane_mach_time 3; logical_metadata_writes 13; energy_billed_to_me 14; energy_billed_to_others 15; swapins 16384 }
coalition 99 { corpse yes }`, size)}.on(t, "proc-lives.scn")
			expect := func(round int, id string, want map[string]string) {
				t.Helper()
				r.expect(round, "coalition "+id, want)
			}
			since := func(first int, v string) string {
				if release < first {
					return "!" + metric.Unsupported.String()
				}
				return v
			}
			expect(0, "71", map[string]string{
				"coalition.tasks.started": "2", "coalition.tasks.exited": "0", "coalition.tasks.living": "2", "coalition.memory.footprint": since(15, "15000"),
				"coalition.wakeups.idle": "3", "coalition.wakeups.interrupt": "4", "coalition.io.read_bytes": "5", "coalition.io.write_bytes": "6",
				"coalition.cpu.instructions": "7", "coalition.cpu.cycles": "8", "coalition.cpu.pcore_time": "!" + noCounter.String(),
				"coalition.io.logical.immediate": "0", "coalition.io.logical.deferred": "9", "coalition.io.logical.invalidated": "0", "coalition.io.logical.metadata": "13",
				"coalition.energy.billed": "14", "coalition.energy.serviced": "15", "coalition.energy.gpu": since(15, "11"), "coalition.energy.ane": since(15, "12"),
				"coalition.ane_time": since(15, "125"), "coalition.memory.swapins": since(26, "16384"),
			})
			// What the helper had used stays counted when it has ended.
			expect(1, "71", map[string]string{"coalition.tasks.living": "1", "coalition.memory.footprint": since(15, "10000")})
			in := r.rounds[0].Instances["coalition 71"]
			if in.Key != "71" || in.Label("id") != "71" || in.Label("start") != "" || in.Name == "" {
				t.Errorf("%+v", in)
			}
			if _, there := r.rounds[0].Rows["coalition 91"]; there {
				t.Error("a coalition has a row before it begins")
			}
			expect(1, "91", map[string]string{"coalition.tasks.living": "1", "coalition.energy.cpu": "60"})
			if job := r.rounds[1].Instances["coalition 91"]; job.Label("start") == "" {
				t.Errorf("%+v began while it was watched", job)
			}
			for _, round := range []int{2, 3} {
				if _, there := r.rounds[round].Rows["coalition 91"]; there {
					t.Error("a coalition has a row after its end")
				}
			}
		})
	}
}
