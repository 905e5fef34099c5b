package darwin

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// A laptop of the newest kind. The oracle test knows its values; this test checks labels and
// absent values.
func TestNewestLaptop(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, filepath.Join(moduleRoot, "testdata", "darwin", "apple-m5.scn"), runOptions{rounds: 1, period: "1s"})
	for i, want := range strings.Fields("Performance Performance Super Super Super Performance Performance Performance") {
		if got := r.labels[darwintest.Series{Metric: "cpu", Instance: cpuName(i)}]; got != "[{level "+want+"}]" {
			t.Errorf("cpu%d is labelled %s, want %s", i, got, want)
		}
	}
	for metric, want := range map[string]string{
		"thermal.cpu.die": "71.5", "thermal.gpu.die": "65.25", "power.battery.temperature": "26.59",
		"network.tcpconn.established": "0", "network.tcp.currestab": "0", "network.tcpconn.listen": "0",
		"vfs.files.free": "0", "vfs.vnodes.max": "4294967296", "power.battery.amperage": "-1612",
	} {
		if x := r.at(t, 0, metric, ""); x.value != want {
			t.Errorf("%s = %q (%s), want %s", metric, x.value, x.absent, want)
		}
	}
	if n := r.number(t, 0, "thermal.fan.mode", "fan0"); n != 1 {
		t.Errorf("the fan's mode is %d", n)
	}
}

// If macOS does not know how long the battery lasts, the value is absent, with the reason.
func TestBatteryTime(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for name, c := range map[string]struct {
		source string
		want   cell
	}{
		"working it out":      {`"Power Source State" string "Battery Power"; "Is Charging" bool no; "Time to Empty" int -1`, cell{absent: timeUnknown.String()}},
		"charging, not known": {`"Power Source State" string "AC Power"; "Is Charging" bool yes; "Time to Full Charge" int -1`, cell{absent: timeUnknown.String()}},
		"full, on mains":      {`"Power Source State" string "AC Power"; "Is Charging" bool no; "Time to Empty" int 0`, cell{absent: timeNone.String()}},
		"charging":            {`"Power Source State" string "AC Power"; "Is Charging" bool yes; "Time to Full Charge" int 45`, cell{value: "45"}},
		"emptying":            {`"Power Source State" string "Battery Power"; "Is Charging" bool no; "Time to Empty" int 322`, cell{value: "322"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scn := write(t, "freeze 10\nclear powersource\npowersource \"InternalBattery-0\" { \"Type\" string \"InternalBattery\"; "+c.source+" }")
			r := m.run(t, scn, runOptions{rounds: 1, period: "1s", only: "polled"})
			if x := r.at(t, 0, "power.battery.time_remaining", ""); x != c.want {
				t.Errorf("%+v, want %+v", x, c.want)
			}
		})
	}
}

// A number that its metric cannot hold is absent, not cut.
func TestValuesOutsideTheirType(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `freeze 10
ioreg { at "AppleSmartBattery" { prop "Voltage" int 4294967296; prop "Amperage" int 4294966684; prop "CycleCount" int -1 } }`)
	r := m.run(t, scn, runOptions{rounds: 1, period: "1s", only: "polled"})
	for metric, want := range map[string]cell{
		"power.battery.voltage":     {absent: "the kernel's value does not fit the metric's type"},
		"power.battery.cycle_count": {absent: "the kernel's value does not fit the metric's type"},
		"power.battery.amperage":    {value: "-612"},
	} {
		if x := r.at(t, 0, metric, ""); x != want {
			t.Errorf("%s is %+v, want %+v", metric, x, want)
		}
	}
}

// Each mount has a row, named by its mount point, however many there are.
func TestManyMounts(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for _, n := range []int{97, 400} {
		var mounts strings.Builder
		mounts.WriteString("freeze 10\nclear mount\nmount \"/dev\" { f_bsize 512; f_blocks 401; f_bfree 0; f_fstypename \"devfs\"; f_mntfromname \"devfs\" }\n")
		for i := range n {
			fmt.Fprintf(&mounts, "mount \"/Volumes/v%d\" { f_blocks %d; f_bfree 1; f_fstypename \"apfs\"; f_mntfromname \"/dev/disk%d\" }\n", i, 100+i, i/2)
		}
		r := m.run(t, write(t, mounts.String()), runOptions{rounds: 2, period: "100ms"})
		for i := range n {
			if got := r.number(t, 1, "filesys.capacity", fmt.Sprintf("/Volumes/v%d", i)); got != int64(100+i)*4 {
				t.Errorf("of %d mounts, v%d has %d kilobytes", n, i, got)
			}
		}
		if got := r.number(t, 1, "hinv.nfilesys", ""); got != int64(n) {
			t.Errorf("%d file systems, want %d", got, n)
		}
		if _, ok := r.rounds[1][darwintest.Series{Metric: "filesys.full", Instance: "/dev"}]; ok {
			t.Error("the directory of devices passes for a full volume")
		}
	}
}

// If one volume is mounted over another, the row shows the upper one, as programs see it.
// That is not an event at every reading.
func TestMountedOver(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `freeze 10
mount "/Volumes/over" { f_blocks 1000; f_bfree 1; f_fstypename "apfs"; f_mntfromname "/dev/disk8s1" }
mount "/Volumes/over2" { f_blocks 2000; f_bfree 1; f_fstypename "hfs"; f_mntonname "/Volumes/over"; f_mntfromname "/dev/disk9s1" }
`)
	r := m.run(t, scn, runOptions{rounds: 4, period: "100ms"})
	if got := r.number(t, 3, "filesys.capacity", "/Volumes/over"); got != 8000 {
		t.Errorf("%d kilobytes, want those of the upper one", got)
	}
	if len(r.events) != 0 {
		t.Errorf("events %q", r.events)
	}
}
