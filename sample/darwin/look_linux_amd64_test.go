package darwin

import (
	"slices"
	"strings"
	"testing"
)

// Drivers, devices and settings that appear after the start are seen and read. Devices also
// cause an event, and so does their removal.
func TestLateComers(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
host { root yes }
clear powersource smc
powersource "InternalBattery-0" { "Type" string "InternalBattery"; "Current Capacity" int 83; "Max Capacity" int 100; "Is Charging" bool no; "Power Source State" string "Battery Power"; "Time to Empty" int 322; start 4; end 12 }
ioreg {
  at "AppleSmartBattery" { start 4; end 12 }
  at "AppleSMC" { start 4 }
  at "AGXAcceleratorG14G" { start 4; end 12 }
}
smc Tp09 flt 61.5
smc FNum ui8 1
smc F0Ac flt 1800
sysctl kern.memorystatus_vm_pressure_level absent from -1 until 4
sysctl vm.swapusage absent from -1 until 4
sysctl net.inet.tcp.pcblist64 absent from -1 until 4
fail IFMIB EPERM from 0 until 4
fail notify_register_check 1 from 0 until 4
fail processor_set_default 5 from 0 until 4
`)
	r := m.cover(t, scn, runOptions{rounds: 40, period: "500ms", look: true}, [2]float64{0, 3.5}, [2]float64{6, 11.5}, [2]float64{14, 100})
	for metric, stays := range map[string]bool{
		"power.battery.charge": false, "power.battery.voltage": false, "thermal.cpu.die": true, "hinv.nfan": true,
		"swap.used": true, "kern.memorystatus_vm_pressure_level": true, "network.tcpconn.listen": true,
		"thermal.pressure.level": true, "kernel.all.nprocs": true,
	} {
		for round := range r.rounds {
			x := r.at(t, round, metric, "")
			switch {
			case r.during(round, 0, 3.5) && x.value != "":
				t.Errorf("round %d: %s = %q before it was there", round, metric, x.value)
			case (r.during(round, 6, 11.5) || stays && r.during(round, 14, 100)) && x.value == "":
				t.Errorf("round %d: %s is absent (%q)", round, metric, x.absent)
			case !stays && r.during(round, 14, 100) && x.value != "":
				t.Errorf("round %d: %s = %q after it went", round, metric, x.value)
			}
		}
	}
	for round := range r.rounds {
		if r.during(round, 6, 11.5) {
			if x := r.at(t, round, "gpu.util", "gpu0"); x.value == "" {
				t.Errorf("round %d: the graphics are not read", round)
			}
			if x := r.at(t, round, "thermal.fan.speed", "fan0"); x.value != "1800" {
				t.Errorf("round %d: the fan turns at %q", round, x.value)
			}
		}
	}
	for _, e := range []string{"graphics processor gpu0 appeared", "graphics processor gpu0 went away"} {
		if r.countEvents(e) != 1 {
			t.Errorf("%d events %q in %q", r.countEvents(e), e, r.events)
		}
	}
	for _, s := range []string{"power", "smc", "gpu", "sysctl", "tcpconn", "interface", "thermal", "kernel"} {
		if n := r.countEvents("look " + s); n == 0 || n > 6 {
			t.Errorf("source %s saw a change %d times", s, n)
		}
	}
}

// When byte counts are whole from some moment on, they do not continue the cut ones: the
// change is not a gain, and for a while the counts are absent.
func TestTheInterfaceMIBComesLate(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	scn := write(t, `
fail IFMIB EPERM from 0 until 4
interface en0 { ibytes counter 12884903000 102400; obytes counter 4294969344 102400 }
`)
	r := m.cover(t, scn, runOptions{rounds: 30, period: "500ms", only: "fast", look: true}, [2]float64{0, 3.5}, [2]float64{8, 100})
	if r.widths["network.interface.in.bytes"] != "0" {
		t.Errorf("the counter is %s bits wide in the end", r.widths["network.interface.in.bytes"])
	}
	last := len(r.rounds) - 1
	if n := r.number(t, 0, "network.interface.in.bytes", "en0"); n >= 1<<32 {
		t.Errorf("at first %d bytes", n)
	}
	if n := r.number(t, last, "network.interface.in.bytes", "en0"); n < 12884903000 {
		t.Errorf("in the end %d bytes", n)
	}
	var reasons []string
	for round := range r.rounds {
		if x := r.at(t, round, "network.interface.in.bytes", "en0"); x.absent != "" {
			reasons = append(reasons, x.absent)
		}
	}
	// If a busy machine delays rounds, several share a reading.
	if len(reasons) < turnRounds || len(reasons) > 2*turnRounds || len(slices.Compact(reasons)) != 1 || !strings.Contains(reasons[0], "another list") {
		t.Errorf("absent because of %q", reasons)
	}
	elapsed := (r.clocks[2*last].Awake - r.clocks[0].Awake) / 1e9
	if d := r.number(t, last, "network.all.in.bytes", "") - r.number(t, 0, "network.all.in.bytes", ""); d < 0 || d > 1<<20*(elapsed+2) {
		t.Errorf("network.all.in.bytes gained %d in %d s", d, elapsed)
	}
}

// If nothing changes, no source sees a change.
func TestLookingSeesNothingNew(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, "host { root yes }"), runOptions{rounds: 5, period: "200ms", look: true})
	if n := r.countEvents("look "); n != 0 {
		t.Errorf("events %q", r.events)
	}
}
