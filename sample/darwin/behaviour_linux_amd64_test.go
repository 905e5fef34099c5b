package darwin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// write writes a scenario that extends the shipped laptop's. In it root runs the program, even
// if an ordinary user runs this test.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.scn")
	if err := os.WriteFile(path, []byte("include \"macbook-m.scn\"\nself { as_uid 0 }\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *recording) at(t *testing.T, round int, metric, instance string) cell {
	t.Helper()
	if round >= len(r.rounds) {
		t.Fatalf("there are only %d rounds", len(r.rounds))
	}
	return r.rounds[round][darwintest.Series{Metric: metric, Instance: instance}]
}

func (r *recording) number(t *testing.T, round int, metric, instance string) int64 {
	t.Helper()
	x := r.at(t, round, metric, instance)
	n, err := strconv.ParseInt(x.value, 10, 64)
	if err != nil {
		t.Fatalf("round %d: %s[%s] = %q (%s)", round, metric, instance, x.value, x.absent)
	}
	return n
}

func (r *recording) countEvents(substring string) int {
	n := 0
	for _, e := range r.events {
		if strings.Contains(e, substring) {
			n++
		}
	}
	return n
}

// The program's own tests must pass on the simulated Mac.
func TestOnTheSimulatedMac(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	cmd := m.Command([]string{"--scenario", filepath.Join(m.Shipped, "macbook-m.scn")}, m.program, "-test.skip", "^TestDump$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, tail(out))
	}
}

// While the switch is on, an ordinary user gets zeros as TCP statistics. The recorder
// follows the switch.
func TestTCPGateFollowsTheSwitch(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root no }
self { as_uid 501 }
sysctl net.inet.tcp.disable_access_to_stats step 1 4.5 0 8.5 1
`)
	r := m.cover(t, scn, runOptions{rounds: 28, period: "500ms", only: "fast"}, [2]float64{0, 4.5}, [2]float64{4.5, 8.5}, [2]float64{8.5, 100})
	for round := range r.rounds {
		x := r.at(t, round, "network.tcp.insegs", "")
		open := r.during(round, 4.5, 8.5)
		shut := r.during(round, 0, 4.5) || r.during(round, 8.5, 100)
		switch {
		case open && x.absent != "":
			t.Errorf("round %d: absent (%s) although the switch is off", round, x.absent)
		case shut && !strings.HasPrefix(x.absent, "withheld by the kernel: net.inet.tcp.disable_access_to_stats is 1"):
			t.Errorf("round %d: %q (%s), want the reason of the refusal", round, x.value, x.absent)
		}
		// The kernel does not withhold connection states.
		if n := r.number(t, round, "network.tcp.currestab", ""); n != 7 {
			t.Errorf("round %d: established %v", round, r.at(t, round, "network.tcp.currestab", ""))
		}
	}
	if n := r.countEvents("tcp statistics gate"); n != 3 {
		t.Errorf("%d events, want one at the start and one per change: %q", n, r.events)
	}
	if r.countEvents("sudo sysctl -w net.inet.tcp.disable_access_to_stats=0") != 2 || r.countEvents("/Library/LaunchDaemons/") != 2 {
		t.Errorf("the warnings do not tell the commands: %q", r.events)
	}
}

func TestTCPGateRootSaysNothing(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, "host { root yes }"), runOptions{rounds: 1, period: "1s", only: "fast"})
	if r.number(t, 0, "network.tcp.insegs", "") == 0 || len(r.events) != 0 {
		t.Errorf("insegs %v, events %q", r.at(t, 0, "network.tcp.insegs", ""), r.events)
	}
}

// If connections are established, zeros are a refusal, whatever the switch says.
func TestTCPGateJudgesByTheEffect(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root yes }
sysctl net.inet.tcp.stats hex "`+strings.Repeat("00", 992)+`"
`)
	r := m.run(t, scn, runOptions{rounds: 2, period: "10ms", only: "fast"})
	if x := r.at(t, 1, "network.tcp.insegs", ""); x.absent != tcpWithheldByZero {
		t.Errorf("insegs %q (%s)", x.value, x.absent)
	}
	scn = write(t, `
host { root yes }
clear tcp
sysctl net.inet.tcp.stats hex "`+strings.Repeat("00", 992)+`"
`)
	r = m.run(t, scn, runOptions{rounds: 1, period: "10ms", only: "fast"})
	if r.number(t, 0, "network.tcp.insegs", "") != 0 {
		t.Error("a machine without connections may have zeros")
	}
}

// If calls fail for a while, their values are absent with the call's name, and no other
// values are. When the calls work again, the values return.
func TestCallsThatFailForAWhile(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root yes; rate_limit no }
fail host_statistics64 5 from 2.5 until 5.5
fail host_processor_info 5 from 2.5 until 5.5
fail processor_set_statistics 5 from 2.5 until 5.5
fail sysctl:vm.swapusage EIO from 2.5 until 5.5
fail sysctl:kern.num_files EPERM from 2.5 until 5.5
fail sysctl:net.inet.tcp.stats EIO from 2.5 until 5.5
fail sysctl:net.inet.tcp.pcblist64 EIO from 2.5 until 5.5
fail NET_RT_IFLIST2 EIO from 2.5 until 3.5
fail IFMIB EPERM from 2.5 until 5.5
fail getfsstat EIO from 2.5 until 5.5
fail notify_get_state 1 from 2.5 until 5.5
fail IOServiceGetMatchingServices 0xe00002bc from 2.5 until 5.5
fail IOConnectCallStructMethod 0xe00002bc from 2.5 until 5.5
fail IOPSCopyPowerSourcesInfo 1 from 2.5 until 5.5
fail IORegistryEntryCreateCFProperty:AppleSmartBattery 1 from 2.5 until 5.5
`)
	r := m.cover(t, scn, runOptions{rounds: 20, period: "500ms"}, [2]float64{0, 2.5}, [2]float64{2.5, 3.5}, [2]float64{3.5, 5.5}, [2]float64{5.5, 100})
	absent := map[string]string{
		"mem.freemem":            "host_statistics64: KERN_FAILURE (5)",
		"kernel.all.nprocs":      "processor_set_statistics: KERN_FAILURE (5)",
		"swap.used":              "sysctl vm.swapusage: input/output error",
		"vfs.files.count":        "permission denied",
		"vfs.files.free":         "permission denied",
		"kern.num_files":         "permission denied",
		"network.tcp.insegs":     "sysctl net.inet.tcp.stats: input/output error",
		"network.tcpconn.listen": "sysctl net.inet.tcp.pcblist64: input/output error",
		"network.all.in.bytes":   "permission denied",
		"thermal.pressure.level": "notify_get_state: notify status 1",
		"thermal.cpu.die":        "IOConnectCallStructMethod: code 0xe00002bc",
		"power.source":           "IOPSCopyPowerSourcesInfo: operation not supported by device",
	}
	for metric, why := range absent {
		for round := range r.rounds {
			x := r.at(t, round, metric, "")
			if (r.during(round, 0, 2.5) || r.during(round, 5.5, 100)) && x.value == "" {
				t.Errorf("round %d: %s is absent (%s) although its call works", round, metric, x.absent)
			}
			if r.during(round, 2.5, 5.5) && x.absent != why && !(strings.HasPrefix(metric, "network.all") && r.during(round, 2.5, 3.7)) {
				t.Errorf("round %d: %s = %q (%s), want absent because of %q", round, metric, x.value, x.absent, why)
			}
		}
	}
	for round := range r.rounds {
		if x := r.at(t, round, "network.interface.in.packets", "en0"); r.during(round, 3.5, 5.5) && x.value == "" {
			t.Errorf("without the interface MIB even packets are absent: %s", x.absent)
		}
	}
	for _, source := range []string{"cpu host_processor_info: KERN_FAILURE (5)", "interface sysctl NET_RT_IFLIST2: input/output error",
		"filesys getfsstat: input/output error", "disk IOServiceGetMatchingServices"} {
		if !strings.Contains(strings.Join(r.failed, "\n"), source) {
			t.Errorf("no failure %q in %q", source, r.failed)
		}
	}
	if x := r.at(t, len(r.rounds)-1, "disk.all.read", ""); x.value == "" {
		t.Errorf("the disks did not come back: %s", x.absent)
	}
}

// While no disk returns statistics, the total is absent too. The last sum must not be shown
// as the present one.
func TestTotalsOfDisksThatCannotBeRead(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root yes }
fail IORegistryEntryCreateCFProperty 1 from 2.5 until 5.5
`)
	r := m.cover(t, scn, runOptions{rounds: 16, period: "500ms"}, [2]float64{0, 2.5}, [2]float64{2.5, 5.5}, [2]float64{5.5, 100})
	for round := range r.rounds {
		for _, total := range []string{"disk.all.read", "disk.all.total_bytes", "disk.all.blkread"} {
			x := r.at(t, round, total, "")
			if r.during(round, 2.5, 5.5) {
				if x.absent != "no disk could be read" {
					t.Errorf("round %d: %s = %q (%s) while no disk can be read", round, total, x.value, x.absent)
				}
			} else if (r.during(round, 0, 2.5) || r.during(round, 5.5, 100)) && x.value == "" {
				t.Errorf("round %d: %s is absent: %s", round, total, x.absent)
			}
		}
	}
}

// Interfaces, disks and mounts come and go. What they counted stays in the totals, which
// never fall.
func TestThingsComeAndGo(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root yes }
interface en7 { ibytes 1000000; ipackets 500; start 3; end 8 }
interface en8 { ibytes counter 5000 100; ipackets counter 50 1; end 6.5 }
mount "/Volumes/stick" { f_blocks 1000; f_bfree 500; f_bavail 500; f_mntfromname "/dev/disk9s1"; start 3; end 8 }
ioreg {
  at "J413AP" {
    node "stickdriver" class IOBlockStorageDriver {
      start 3; end 8
      prop "Statistics" dict { "Operations (Read)" int 777; "Bytes (Read)" int 4096000; "Operations (Write)" int 0; "Bytes (Write)" int 0 }
      node "Stick Media" class IOMedia { prop "BSD Name" string "disk9"; prop "Whole" bool yes; prop "Preferred Block Size" int 512 }
    }
  }
}
`)
	r := m.cover(t, scn, runOptions{rounds: 26, period: "500ms"}, [2]float64{0, 3}, [2]float64{3, 6}, [2]float64{6.5, 8}, [2]float64{8, 100})
	for round := range r.rounds {
		there := r.during(round, 3, 8)
		if !there && !r.during(round, 0, 3) && !r.during(round, 8, 100) {
			continue
		}
		for _, s := range []darwintest.Series{
			{Metric: "network.interface.in.bytes", Instance: "en7"}, {Metric: "disk.dev.read", Instance: "disk9"}, {Metric: "filesys.capacity", Instance: "/Volumes/stick"},
		} {
			if _, ok := r.rounds[round][s]; ok != there {
				t.Errorf("round %d: %v is recorded: %v", round, s, ok)
			}
		}
		if round == 0 {
			continue
		}
		for _, total := range []string{"network.all.in.bytes", "network.all.in.packets", "network.all.total.bytes", "disk.all.read", "disk.all.read_bytes"} {
			if r.number(t, round, total, "") < r.number(t, round-1, total, "") {
				t.Errorf("round %d: %s fell from %v to %v", round, total, r.at(t, round-1, total, ""), r.at(t, round, total, ""))
			}
		}
	}
	// One disk stays, and reads 110 times a second.
	elapsed := (r.clocks[51].Awake - r.clocks[0].Awake) / 1e9
	if d := r.number(t, 25, "disk.all.read", "") - r.number(t, 0, "disk.all.read", ""); d < 777+110*(elapsed-2) || d > 777+110*(elapsed+1) {
		t.Errorf("disk.all.read gained %d in %d s, want 110 a second and the stick's 777", d, elapsed)
	}
	for _, e := range []string{"interface en7 appeared", "interface en7 went away", "interface en8 went away", "disk disk9 appeared",
		"disk disk9 went away", "/dev/disk9s1 was mounted on /Volumes/stick", "/dev/disk9s1 was unmounted from /Volumes/stick"} {
		if r.countEvents(e) != 1 {
			t.Errorf("%d events %q in %q", r.countEvents(e), e, r.events)
		}
	}
}

// If a program asks too often, the kernel repeats its last answer. Such an answer is not a
// measurement.
func TestRepeatedAnswersAreStale(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, "host { rate_limit 2 }"), runOptions{rounds: 16, period: "250ms", only: "fast"})
	last, stale := "", 0
	for round := range r.rounds {
		if round > 0 && r.clocks[2*round].Cont-r.clocks[2*round-2].Cont < int64(sameRound)+int64(10*time.Millisecond) {
			// Two readings this close share an answer.
			continue
		}
		switch x := r.at(t, round, "mem.pages.faults", ""); {
		case x.absent == "stale":
			stale++
		case x.value == last || x.value == "":
			t.Errorf("round %d: the answer of before, %q (%s), passes for a new one", round, x.value, x.absent)
		default:
			last = x.value
		}
	}
	if stale == 0 || stale > 12 {
		t.Errorf("%d of %d answers were stale", stale, len(r.rounds))
	}
}

// Without the interface MIB, byte counts come from the interface list. They are cut to 32
// bits, and marked so.
func TestByteCountsWithoutTheInterfaceMIB(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, "freeze 10\nfail IFMIB EPERM\ninterface en0 { ibytes 12884903000; obytes 4294969344 }")
	r := m.run(t, scn, runOptions{rounds: 1, period: "1s", only: "fast"})
	if n := r.number(t, 0, "network.interface.in.bytes", "en0"); n != 12884903000&0xffffffff&^1023 {
		t.Errorf("in.bytes %d", n)
	}
	for metric, width := range map[string]string{"network.interface.in.bytes": "32", "network.interface.total.bytes": "32", "network.interface.in.packets": "0"} {
		if r.widths[metric] != width {
			t.Errorf("%s is %s bits wide, want %s", metric, r.widths[metric], width)
		}
	}
}

// The device tree gives the kind of a core more reliably than the order of the cores does.
func TestCoresOfTwoDies(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	var tree strings.Builder
	for i, letter := range "EEPPEEPP" {
		fmt.Fprintf(&tree, "node \"cpu%d\" class IOPlatformDevice { prop \"cluster-type\" data \"%02x00\"; prop \"logical-cpu-id\" data \"%02x000000\" }\n", i, letter, i)
	}
	r := m.run(t, write(t, "ioreg { at \"J413AP\" {\n"+tree.String()+"} }"), runOptions{rounds: 1, period: "1s", only: "fast"})
	for i, letter := range "EEPPEEPP" {
		want := map[rune]string{'E': "[{level Efficiency}]", 'P': "[{level Performance}]"}[letter]
		if got := r.labels[darwintest.Series{Metric: "cpu", Instance: cpuName(i)}]; got != want {
			t.Errorf("cpu%d is labelled %s, want %s", i, got, want)
		}
	}
}

// The recorder notices a new system version while it runs.
func TestTheSystemIsUpdatedWhileItRuns(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.cover(t, write(t, `
sysctl kern.osversion step "24F74" 3.5 "24F79"
sysctl kern.osproductversion step "15.5" 3.5 "15.5.1"
sysctl kern.hostname step "before" 3.5 "after"
`), runOptions{rounds: 7, period: "1s", only: "constrained"}, [2]float64{0, 3.5}, [2]float64{3.5, 100})
	for round := range r.rounds {
		build, product, host := "24F74", "15.5", "before"
		if r.during(round, 3.5, 100) {
			build, product, host = "24F79", "15.5.1", "after"
		} else if !r.during(round, 0, 3.5) {
			continue
		}
		for metric, want := range map[string]string{"kern.osversion": build, "kern.osproductversion": product, "kernel.uname.distro": "macOS " + product, "kernel.uname.nodename": host} {
			if x := r.at(t, round, metric, ""); x.value != want {
				t.Errorf("round %d: %s = %q (%s), want %q", round, metric, x.value, x.absent, want)
			}
		}
		if x := r.at(t, round, "pmda.uname", ""); !strings.HasPrefix(x.value, "Darwin "+host+" ") {
			t.Errorf("round %d: %q", round, x.value)
		}
	}
}

// In sleep the awake clock stops and the continuous clock goes on.
func TestSleepAndWake(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.cover(t, write(t, "clock wall 2025-06-15T12:00:00\nsleep at 8 for 3600\nclock step at 11 by -100"),
		runOptions{rounds: 13, period: "1s"}, [2]float64{0, 8}, [2]float64{8, 11}, [2]float64{11, 100})
	first, last := r.clocks[0], r.clocks[len(r.clocks)-1]
	awake, cont, wall := last.Awake-first.Awake, last.Cont-first.Cont, last.Wall-first.Wall
	if slept := time.Duration(cont - awake); (slept - time.Hour).Abs() > time.Millisecond {
		t.Errorf("awake %v, continuous %v: slept %v, want 1h", time.Duration(awake), time.Duration(cont), slept)
	}
	if stepped := time.Duration(wall - cont); (stepped + 100*time.Second).Abs() > 50*time.Millisecond {
		t.Errorf("the wall clock moved %v against the continuous one, want -100s", stepped)
	}
	if d := r.number(t, 12, "kernel.all.uptime", "") - r.number(t, 0, "kernel.all.uptime", ""); d < 3600 || d > 3600+(awake+2e9)/1e9 {
		t.Errorf("uptime grew by %d s, want sleep included", d)
	}
	if before, after := r.number(t, 0, "kern.sleeptime", ""), r.number(t, 12, "kern.sleeptime", ""); before != 0 || after == 0 {
		t.Errorf("kern.sleeptime was %d, is %d", before, after)
	}
	if d := r.number(t, 12, "kern.waketime", "") - r.number(t, 12, "kern.sleeptime", ""); (time.Duration(d)*time.Microsecond - time.Hour).Abs() > time.Second {
		t.Errorf("slept for %d us by the kernel's own account", d)
	}
}

// A sysctl that is in no table is read rarely, until it changes.
func TestUnknownSysctlsArePromoted(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, "sysctl kern.unheard.moving quad counter 1 1000\nsysctl kern.unheard.still int 7")
	r := m.run(t, scn, runOptions{rounds: 4, period: "1s", refresh: 3})
	if r.classes["kern.unheard.moving"] != "polled" || r.classes["kern.unheard.still"] != "constrained" {
		t.Errorf("classes: moving %s, still %s", r.classes["kern.unheard.moving"], r.classes["kern.unheard.still"])
	}
}

// An hour of sampling leaks nothing (run checks that).
func TestAnHourLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	rounds := 3600
	if testing.Short() || m.Emulated() {
		rounds = 120 // an emulated processor needs half an hour for the hour
	}
	start := time.Now()
	r := m.run(t, write(t, "host { root yes }"), runOptions{rounds: rounds, period: "1s", natural: true, refresh: 900})
	t.Logf("%d seconds of the machine's in %v", rounds, time.Since(start))
	if len(r.rounds) != rounds {
		t.Errorf("%d rounds", len(r.rounds))
	}
}

// TestCallsPerRound prints and bounds the cost of a round of each class, and of a look of
// all sources.
func TestCallsPerRound(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, "host { root yes }")
	const extra = 10
	for _, class := range []struct {
		name  string
		limit int
	}{{"fast", 70}, {"polled", 300}, {"constrained", 2000}, {"look", 2500}} {
		o := runOptions{rounds: 2, period: "200ms", only: class.name, look: class.name == "look"}
		few := calls(m.run(t, scn, o).report)
		o.rounds += extra
		many := calls(m.run(t, scn, o).report)
		kernel, library := 0, 0
		var list []string
		for name, n := range many {
			if d := n - few[name]; d > 0 && intoKernel.MatchString(name) {
				kernel += d
				list = append(list, fmt.Sprintf("%s %.1f", name, float64(d)/extra))
			} else if d > 0 && inLibrary.MatchString(name) {
				library += d
			}
		}
		sort.Strings(list)
		t.Logf("%s: %.1f calls enter the kernel, %.1f do not: %s", class.name, float64(kernel)/extra, float64(library)/extra, strings.Join(list, ", "))
		if kernel > class.limit*extra {
			t.Errorf("a round of %s costs %.1f calls, more than %d", class.name, float64(kernel)/extra, class.limit)
		}
	}
}

// The calls of the sources, by whether the kernel (or another process) answers or a library
// does. Calls of Go's own runtime are in neither list.
var (
	intoKernel = regexp.MustCompile(`^(sysctl|host_|processor_set_|vm_deallocate|mach_port_|getfsstat|getutxent|setutxent|endutxent|notify_|IO(PS|Service[GOC]|Iterator|Object|Registry|Connect))`)
	inLibrary  = regexp.MustCompile(`^(CF|IOServiceMatching|mach_continuous_time)`)
)

var callLine = regexp.MustCompile(`(?m)^stats: +(\d+) (\S+)$`)

func calls(report string) map[string]int {
	n := make(map[string]int)
	for _, m := range callLine.FindAllStringSubmatch(report, -1) {
		n[m[2]], _ = strconv.Atoi(m[1])
	}
	return n
}
