package query_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// A Mac's battery loses 180 mAh at 12 V in 20 minutes, 30 mAh in a sleep of an hour, and 108 mAh in
// 12 minutes after it. Then the Mac is charged. Safari's processes take 3 W, and a daemon 0.5 W.
const ledgerMac = `
start 2026-11-20T08:00:00Z
host mbp os=Darwin platform=macos
interval polled 10s
interval process 5s
metric power.ac.connected u32 instant - polled
metric power.battery.capacity.now u32 instant - polled
metric power.battery.voltage u32 instant - polled mV
metric power.system.energy u64 counter - polled nanojoule
metric proc.energy.cpu u64 counter process process nanojoule
metric proc.owner.app string discrete process process
metric coalition.energy.gpu u64 counter coalition process nanojoule
instance process 1/0 000001 launchd pid=1
instance process 7/0 000007 Safari pid=7 app=Safari service=com.apple.Safari
instance process 8/0 000008 com.apple.WebKit.WebContent pid=8 app=Safari
instance process 9/0 000009 mds pid=9 service=com.apple.metadata.mds
instance process 10/0 000010 zsh pid=10 session=3_of_anna
instance coalition com.apple.Safari Safari app=Safari
boot b1 -1h
every 10s 0s 20m polled
  power.ac.connected 0
  power.battery.capacity.now level=5000 drift=-0.15
  power.battery.voltage 12000
  power.system.energy rate=4000000000 from=5000000000000
every 5s 0s 20m process
  proc.energy.cpu[1/0] rate=0 from=100
  proc.energy.cpu[7/0] rate=1000000000 from=1000000000
  proc.energy.cpu[8/0] rate=1500000000 from=1000000000
  proc.energy.cpu[9/0] rate=500000000 from=1000000000
  coalition.energy.gpu[com.apple.Safari] rate=500000000 from=7000000000
event 1201s sleep | asleep |
event 80m wake | awake | seconds=3598
every 10s 80m 92m polled
  power.ac.connected 0
  power.battery.capacity.now level=4790 drift=-0.15
  power.battery.voltage 12000
  power.system.energy rate=4000000000
every 5s 80m 92m process
  proc.energy.cpu[1/0] rate=0
  proc.energy.cpu[7/0] rate=1000000000
  proc.energy.cpu[8/0] rate=1500000000
  proc.energy.cpu[9/0] rate=500000000
  coalition.energy.gpu[com.apple.Safari] rate=500000000
every 10s 5530s 100m polled
  power.ac.connected 1
  power.battery.capacity.now level=4682 drift=1
  power.battery.voltage 12600
  power.system.energy rate=4000000000
every 5s 5525s 100m process
  proc.energy.cpu[1/0] rate=0
  proc.energy.cpu[7/0] rate=1000000000
  proc.energy.cpu[8/0] rate=1500000000
  proc.energy.cpu[9/0] rate=500000000
  coalition.energy.gpu[com.apple.Safari] rate=500000000
`

func ledgers(t *testing.T, text string, w query.Window, onBattery bool, by query.Grouping) []*query.Ledger {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := query.Ledgers(querytest.New(parts...), w, onBattery, by)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A simulated discharge adds up to what the battery lost, to the last microjoule.
func TestLedgerAddsUp(t *testing.T) {
	for _, by := range query.LedgerGroupings {
		l := ledgers(t, ledgerMac, query.Window{}, true, by)[0]
		// 5000 - 4682 mAh at 12 V, 30 mAh of which in sleep.
		if got, want := l.Given(), query.MicroJoules(318*12*3_600_000); got != want || l.System != 0 {
			t.Errorf("%s: given %d uJ, want %d", by, got, want)
		}
		if want := query.MicroJoules(30 * 12 * 3_600_000); l.Sleep != want || l.Asleep != 3598e9 {
			t.Errorf("%s: asleep %d uJ for %d ns, want %d", by, l.Sleep, l.Asleep, want)
		}
		if l.Taken()+l.Sleep+l.Residual() != l.Given() || l.Residual() <= 0 {
			t.Errorf("%s: %d + %d + %d is not %d", by, l.Taken(), l.Sleep, l.Residual(), l.Given())
		}
	}
}

// Owners are a line each, with what graphics used; on mains power the machine counts itself.
func TestLedgerTakers(t *testing.T) {
	// On battery, processes were read from 0 to 20m and, after the sleep, from 80m to 92m5s.
	const onBattery, onMains = 1935, 470
	for _, c := range []struct {
		by        query.Grouping
		onBattery bool
		seconds   query.MicroJoules
		want      string
	}{
		{query.PerOwner, true, onBattery, "app Safari 2 3000 2500 500; service mds 1 500 500"},
		{query.PerOwner, false, onBattery + onMains, "app Safari 2 3000 2500 500; service mds 1 500 500"},
		{"service", true, onBattery, " (no service) 2 1500 1500; service Safari 1 1000 1000; service mds 1 500 500"},
		{"pod", true, onBattery, " (no pod) 4 3000 3000"},
		{query.PerName, true, onBattery, " WebContent 1 1500 1500;  Safari 1 1000 1000;  mds 1 500 500"},
	} {
		l := ledgers(t, ledgerMac, query.Window{}, c.onBattery, c.by)[0]
		var got []string
		for _, k := range l.Takers {
			text := fmt.Sprint(k.Kind, " ", k.Name[strings.LastIndex(k.Name, ".")+1:], " ", k.Processes, " ", k.Energy/c.seconds/1000, " ", k.CPU/c.seconds/1000)
			if k.HasGPU {
				text += fmt.Sprint(" ", k.GPU/c.seconds/1000)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != c.want || l.Estimated != "" || l.Ownerless {
			t.Errorf("%s, in mW: %s, want %s", c.by, text, c.want)
		}
		if want := query.MicroJoules(4 * onMains * 1e6); !c.onBattery && (l.System != want || l.OnSystem != onMains*1e9) {
			t.Errorf("%s: on mains power %d uJ in %d ns, want %d", c.by, l.System, l.OnSystem, want)
		}
	}
}

// ledgerLinux is a laptop that burns 10 W, a quarter of its processors busy.
const ledgerLinux = `
start 2026-11-20T08:00:00Z
host tux os=Linux platform=linux cpus=4
interval polled 10s
interval process 5s
metric power.ac.connected u32 instant - polled
metric power.battery.energy.now u64 instant - polled nanojoule
metric power.package.energy u64 counter package polled nanojoule
metric proc.psinfo.utime u64 counter process process nanosec
metric proc.psinfo.stime u64 counter process process nanosec
instance package 0 package-0
instance package 0:0 package-0/core
instance package 1 package-1
instance process 1/0 000001 init pid=1 service=init.scope
instance process 7/0 000007 java pid=7 container=web service=docker.service
boot b1 -1h
every 10s 0s 1h polled
  power.ac.connected 0
  power.battery.energy.now level=144000000000000 drift=-10000000000
  power.package.energy[0] rate=2000000000
  power.package.energy[0:0] rate=1500000000
  power.package.energy[1] rate=1000000000
every 5s 0s 1h process
  proc.psinfo.utime[1/0] rate=10000000
  proc.psinfo.stime[1/0] rate=30000000
  proc.psinfo.utime[7/0] rate=800000000
  proc.psinfo.stime[7/0] rate=160000000
every 10s 3610s 2h polled
  power.ac.connected 1
  power.battery.energy.now level=108000000000000 drift=1000000000
  power.package.energy[0] rate=2000000000
  power.package.energy[0:0] rate=1500000000
  power.package.energy[1] rate=1000000000
every 5s 3605s 2h process
  proc.psinfo.utime[1/0] rate=10000000
  proc.psinfo.stime[1/0] rate=30000000
  proc.psinfo.utime[7/0] rate=800000000
  proc.psinfo.stime[7/0] rate=160000000
`

// Without counts of the kernel, an owner gets the share that its processor time has of all time:
// three quarters of what was given were idle time, and are residual.
func TestLedgerEstimates(t *testing.T) {
	l := ledgers(t, ledgerLinux, query.Window{}, true, query.PerOwner)[0]
	given := query.MicroJoules(10_000 * 3_600_000)
	if l.Battery != given || l.Estimated == "" {
		t.Errorf("the battery gave %d uJ, want %d; estimated: %q", l.Battery, given, l.Estimated)
	}
	if l.Taken()+l.Residual() != given || l.Residual() < given*74/100 || l.Residual() > given*76/100 {
		t.Errorf("residual %d uJ of %d", l.Residual(), given)
	}
	if k := l.Takers[0]; k.Kind != "container" || k.Name != "web" || k.Energy < given*23/100 || k.Energy > given*25/100 {
		t.Errorf("%+v of %d", *k, given)
	}
	// On mains power the packages are counted, but not their parts again.
	l = ledgers(t, ledgerLinux, query.Window{}, false, query.PerOwner)[0]
	if want := query.MicroJoules(3 * 3590 * 1e6); l.System != want || l.SystemFrom != query.PackageEnergy {
		t.Errorf("the packages used %d uJ, want %d", l.System, want)
	}
	// Without owners it says so, and groups by name.
	plain := strings.NewReplacer(" service=init.scope", "", " container=web service=docker.service", "").Replace(ledgerLinux)
	for _, by := range []query.Grouping{query.PerOwner, "container"} {
		l = ledgers(t, plain, query.Window{}, true, by)[0]
		if k := l.Takers[0]; !l.Ownerless || k.Kind != "" || k.Name != "java" {
			t.Errorf("%s: %v %+v", by, l.Ownerless, *k)
		}
	}
}

// What a battery does, and what the ledger has of it.
func TestLedgerOfBatteries(t *testing.T) {
	const head = `
start 2026-11-20T08:00:00Z
host tux
interval polled 10s
interval process 10s
metric power.ac.connected u32 instant - polled
metric power.battery.capacity.now u32 instant - polled
metric power.battery.voltage u32 instant - polled mV
metric power.battery.amperage i32 instant - polled mA
metric proc.psinfo.utime u64 counter process process nanosec
metric proc.psinfo.stime u64 counter process process nanosec
boot b1 -1h
`
	const mWh = query.PerMilliwattHour
	for _, c := range []struct {
		name, text string
		onBattery  bool
		given      query.MicroJoules
		sleep      query.MicroJoules
		unknown    bool
		why        string
	}{
		{name: "the gauge wavers", onBattery: true, given: 20 * mWh, text: `
every 10s 0s 10s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
every 10s 20s 20s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1001
every 10s 30s 30s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 998`},
		{name: "the voltage falls with the charge", onBattery: true, given: 19*mWh + 2*mWh/4, text: `
tick polled 0s
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
tick polled 10s
  power.ac.connected 0
  power.battery.voltage 9500
  power.battery.capacity.now 998`},
		{name: "charged while nobody looked", onBattery: true, given: 10 * mWh, text: `
every 10s 0s 10s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
every 10s 10m 10m polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1500
every 10s 610s 610s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1499`},
		{name: "asleep until mains power came", onBattery: true, given: 100 * mWh, sleep: 100 * mWh, text: `
tick polled 0s
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
event 5s sleep | asleep |
event 1h wake | awake | seconds=3595
tick polled 1h
  power.ac.connected 1
  power.battery.voltage 10000
  power.battery.capacity.now 990
tick polled 3610s
  power.ac.connected 1
  power.battery.voltage 10000
  power.battery.capacity.now 980`},
		{name: "only the current is known", onBattery: true, given: 10 * mWh, unknown: true, text: `
every 10s 0s 60s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.amperage -60
event 65s sleep | asleep |
event 1h wake | awake | seconds=3535
tick polled 1h
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.amperage -60`},
		{name: "off for a while", onBattery: true, given: 10 * mWh, text: `
every 10s 0s 10s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
boot b2 5m
tick polled 10m
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 900
tick polled 610s
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 899`},
		{name: "two archives of one boot", onBattery: true, given: 30 * mWh, text: `
every 10s 0s 10s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 1000
archive
tick polled 20s
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 997`},
		{name: "on mains power", onBattery: true, why: "it did not run on its battery in this window", text: `
every 10s 0s 30s polled
  power.ac.connected 1
  power.battery.voltage 10000
  power.battery.capacity.now level=1000 drift=-1`},
		{name: "mains power is not counted", why: "it did not run on its battery in this window, and what it took from mains power was not recorded", text: `
every 10s 0s 30s polled
  power.ac.connected 1
  power.battery.voltage 10000
  power.battery.capacity.now 1000`},
		{name: "not read", onBattery: true, why: "the battery was not read in this window", text: `
every 10s 0s 30s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now !not_understood`},
		{name: "absurd", onBattery: true, why: "the battery was not read in this window", text: `
every 10s 0s 30s polled
  power.ac.connected 0
  power.battery.voltage 10000
  power.battery.capacity.now 4000000000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ledgers(t, head+c.text, query.Window{}, c.onBattery, query.PerOwner)[0]
			if l.Why != c.why || c.why == "" && (l.Given() != c.given || l.Sleep != c.sleep || l.SleepUnknown != c.unknown) {
				t.Errorf("%q, %d mWh of which %d asleep, unknown %v; want %q, %d, %d, %v", l.Why, l.Given()/mWh, l.Sleep/mWh, l.SleepUnknown,
					c.why, c.given/mWh, c.sleep/mWh, c.unknown)
			}
		})
	}
	const charge = "metric power.battery.capacity.now u32 instant - polled\n"
	absent := strings.Replace(head, charge, charge+"  unsupported this Mac has no battery\n", 1)
	l := ledgers(t, absent+"tick polled 0s\n  power.ac.connected 1\n", query.Window{}, true, query.PerOwner)[0]
	if want := "this Mac has no battery"; l.Why != want {
		t.Errorf("%q, want %q", l.Why, want)
	}
}
