package linux

import (
	"strings"
	"testing"
)

func TestPower(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/power_supply/AC/type":                  "Mains\n",
		"sys/class/power_supply/AC/online":                "0\n",
		"sys/class/power_supply/mouse/type":               "Battery\n",
		"sys/class/power_supply/mouse/scope":              "Device\n",
		"sys/class/power_supply/mouse/capacity":           "3\n",
		"sys/class/power_supply/XBAT0/type":               "Battery\n",
		"sys/class/power_supply/XBAT0/present":            "1\n",
		"sys/class/power_supply/XBAT0/capacity":           "81\n",
		"sys/class/power_supply/XBAT0/status":             "Discharging\n",
		"sys/class/power_supply/XBAT0/cycle_count":        "321\n",
		"sys/class/power_supply/XBAT0/voltage_now":        "12345678\n",
		"sys/class/power_supply/XBAT0/current_now":        "1500000\n",
		"sys/class/power_supply/XBAT0/charge_now":         "3240000\n",
		"sys/class/power_supply/XBAT0/energy_now":         "40000001\n",
		"sys/class/power_supply/XBAT0/charge_full":        "4000000\n",
		"sys/class/power_supply/XBAT0/charge_full_design": "5000000\n",
		"sys/class/power_supply/XBAT0/temp":               "305\n",
		"sys/class/power_supply/XBAT0/time_to_empty_now":  "7200\n",
	})
	p, err := newPower(root)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	expect(t, readAll(t, clock(nil), p), map[cell]string{
		{"power.ac.connected", ""}: "0", {"power.source", ""}: "Battery Power", {"power.battery.present", ""}: "1",
		{"power.battery.charge", ""}: "81", {"power.battery.charging", ""}: "0", {"power.battery.cycle_count", ""}: "321",
		{"power.battery.voltage", ""}: "12345", {"power.battery.amperage", ""}: "-1500",
		{"power.battery.capacity.design", ""}: "5000", {"power.battery.capacity.max", ""}: "4000",
		{"power.battery.health", ""}: "80", {"power.battery.temperature", ""}: "30.5",
		{"power.battery.time_remaining", ""}: "120",
		{"power.battery.capacity.now", ""}:   "3240", {"power.battery.energy.now", ""}: "144000003600000",
	})
	write(t, root, "sys/class/power_supply/AC/online", "1\n")
	write(t, root, "sys/class/power_supply/XBAT0/status", "Charging\n")
	expect(t, readAll(t, clock(nil), p), map[cell]string{
		{"power.ac.connected", ""}: "1", {"power.source", ""}: "AC Power", {"power.battery.charging", ""}: "1",
		{"power.battery.amperage", ""}: "1500", {"power.battery.time_remaining", ""}: "absent: the battery's driver does not estimate it",
	})

	write(t, root, "sys/class/power_supply/XBAT0/status", "Full\n")
	expect(t, readAll(t, clock(nil), p), map[cell]string{
		{"power.battery.time_remaining", ""}: "absent: the battery neither charges nor empties",
	})

	desktop, err := newPower(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range desktop.group.Metrics {
		if d.Unsupported == "" {
			t.Errorf("%s is supported without any supply", d.Name)
		}
	}
}

func TestThermal(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/thermal/thermal_zone0/type": "acpitz\n",
		"sys/class/thermal/thermal_zone0/temp": "20000\n",
		"sys/class/thermal/thermal_zone1/type": "x86_pkg_temp\n",
		"sys/class/thermal/thermal_zone1/temp": "54500\n",
		"sys/class/hwmon/hwmon0/name":          "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input":   "61000\n",
		"sys/class/hwmon/hwmon1/name":          "nct6775\n",
		"sys/class/hwmon/hwmon1/fan1_input":    "1234\n",
		"sys/class/hwmon/hwmon1/fan1_min":      "300\n",
		"sys/class/hwmon/hwmon1/fan1_label":    "rear\n",
		"sys/class/hwmon/hwmon1/pwm1_enable":   "1\n",
		"sys/class/hwmon/hwmon1/fan2_input":    "0\n",
		"sys/class/hwmon/hwmon1/pwm2_enable":   "5\n",
		"sys/class/hwmon/hwmon2/name":          "nct6775\n",
		"sys/class/hwmon/hwmon2/fan1_input":    "77\n",
	})
	s, err := newThermal(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expect(t, readAll(t, clock(nil), s), map[cell]string{
		{"thermal.package", ""}: "54.5", {"thermal.cpu.die", ""}: "61", {"hinv.nfan", ""}: "3",
		{"thermal.fan.speed", "nct6775 fan1"}: "1234", {"thermal.fan.min", "nct6775 fan1"}: "300",
		{"thermal.fan.mode", "nct6775 fan1"}: "1", {"thermal.fan.mode", "nct6775 fan2"}: "0",
		{"thermal.fan.min", "nct6775 fan2"}:          "absent: unsupported",
		{"thermal.fan.speed", "nct6775 hwmon2 fan1"}: "77",
	})
	if s.single.Metrics[thermalGPU].Unsupported == "" || s.perFan.Metrics[fanMax].Unsupported == "" {
		t.Error("sensors that are not there are not marked")
	}
}

func TestPackages(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/powercap/intel-rapl:0/name":                  "package-0\n",
		"sys/class/powercap/intel-rapl:0/energy_uj":             "262143000000\n",
		"sys/class/powercap/intel-rapl:0/max_energy_range_uj":   "262143328850\n",
		"sys/class/powercap/intel-rapl:0:0/name":                "core\n",
		"sys/class/powercap/intel-rapl:0:0/energy_uj":           "5\n",
		"sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "262143328850\n",
		"sys/class/powercap/intel-rapl-mmio:0/name":             "package-0\n",
		"sys/class/powercap/intel-rapl-mmio:0/energy_uj":        "7\n",
	})
	s, err := newPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := clock(nil)
	const metric = "power.package.energy"
	got := readAll(t, c, s)
	expect(t, got, map[cell]string{{metric, "package-0"}: "262143000000000", {metric, "package-0 core"}: "5000"})
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
	write(t, root, "sys/class/powercap/intel-rapl:0/energy_uj", "11671150\n")
	write(t, root, "sys/class/powercap/intel-rapl:0:0/energy_uj", "3\n")
	expect(t, readAll(t, c, s), map[cell]string{
		{metric, "package-0"}:      "262155000000000", // It wrapped, after 12 J.
		{metric, "package-0 core"}: "8000",            // That would be 262 kJ in a second: it began again, as after sleep.
	})
	write(t, root, "sys/class/powercap/intel-rapl:0/energy_uj", "no number\n")
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	expect(t, readAll(t, c, s), map[cell]string{
		{metric, "package-0"}:      "absent: not understood",
		{metric, "package-0 core"}: "8000", // another look keeps the counts
	})
	none, err := newPackages(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if none.group.Metrics[0].Unsupported == "" {
		t.Error("a machine that counts nothing is not marked")
	}
}

func TestGPUs(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/drm/card0/device/gpu_busy_percent":    "37\n",
		"sys/class/drm/card0/device/mem_info_vram_used":  "1000\n",
		"sys/class/drm/card0/device/mem_info_vram_total": "5000\n",
		"sys/class/drm/card0-HDMI-A-1/status":            "connected\n",
		"sys/class/drm/card1/device/vendor":              "0x8086\n",
	})
	g, err := newGPUs(root)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	expect(t, readAll(t, clock(nil), g), map[cell]string{
		{"gpu.util", "card0"}: "37", {"gpu.memory.used", "card0"}: "1000", {"gpu.memory.free", "card0"}: "4000",
		{"gpu.util", "card1"}: "absent: unsupported", {"hinv.ngpu", ""}: "2",
	})
}

const cpuInfo = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.146\ncache size\t: 1024 KB\n\n" +
	"processor\t: 2\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 3000.5\ncache size\t: 512 KB\n\n"

func TestCPUInfo(t *testing.T) {
	root := tree(t, map[string]string{"proc/cpuinfo": cpuInfo, "sys/devices/system/cpu/online": "0-1,4\n"})
	c, err := newCPUInfo(root)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	expect(t, readAll(t, clock(nil), c), map[cell]string{
		{"hinv.cpu.clock", "cpu0"}: "2596.146", {"hinv.cpu.clock", "cpu2"}: "3000.5", {"hinv.cpu.cache", "cpu2"}: "512",
		{"hinv.cpu.vendor", "cpu0"}: "AuthenticAMD", {"hinv.cpu.model_name", "cpu2"}: "AMD EPYC",
		{"hinv.cpu.online", "cpu0"}: "1", {"hinv.cpu.online", "cpu2"}: "0",
	})
	arm, err := newCPUInfo(tree(t, map[string]string{"proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 48.00\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer arm.Close()
	if arm.group.Metrics[cpuModel].Unsupported == "" {
		t.Error("a processor without model name is not marked")
	}
}

func FuzzCPUInfo(f *testing.F) {
	f.Add([]byte(cpuInfo))
	f.Add([]byte("processor:\nprocessor: 1\n:\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for n := 0; data != nil; n++ {
			rest := len(data)
			var ok bool
			if _, data, ok = nextCPU(data); !ok {
				break
			}
			if len(data) >= rest {
				t.Fatal("no progress")
			}
		}
		inList(data, 3)
	})
}

func TestInList(t *testing.T) {
	for list, want := range map[string]bool{"0-3": true, "2": true, "0,2,4-5\n": true, "3-9": false, "": false, "-": false, "x-2": false} {
		t.Run(list, func(t *testing.T) {
			if got := inList([]byte(list), 2); got != want {
				t.Errorf("2 is in it: %v", got)
			}
		})
	}
}

func TestHost(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/sys/kernel/ostype": "Linux\n", "proc/sys/kernel/osrelease": "6.1.0\n", "proc/sys/kernel/version": "#1 SMP\n",
		"proc/sys/kernel/hostname": "vm\n", "proc/sys/kernel/arch": "aarch64\n",
		"etc/os-release":                        "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"sys/class/dmi/id/product_name":         "ThinkPad X1\n",
		"sys/devices/system/node/node0/cpulist": "0\n",
		"sys/devices/system/node/node1/cpulist": "1\n",
		"sys/devices/system/node/possible":      "0-1\n",
	})
	h, err := newHost(root)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, clock(nil), h)
	expect(t, got, map[cell]string{
		{"kernel.uname.sysname", ""}: "Linux", {"kernel.uname.nodename", ""}: "vm", {"kernel.uname.release", ""}: "6.1.0",
		{"kernel.uname.version", ""}: "#1 SMP", {"kernel.uname.machine", ""}: "aarch64",
		{"kernel.uname.distro", ""}: "Debian GNU/Linux 12 (bookworm)", {"hinv.machine", ""}: "ThinkPad X1",
		{"pmda.uname", ""}: "Linux vm 6.1.0 #1 SMP aarch64", {"platform", ""}: "linux", {"hinv.nnode", ""}: "2",
	})
	if got[cell{"pmda.version", ""}].Str == "" {
		t.Error("no version")
	}
}

const rpcNFS = `net 10 1 9 2
rpc 1000 3 1001
proc2 18 5 5 5
proc3 22 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22
proc4 2 1 1
`

func TestNFS(t *testing.T) {
	root := tree(t, map[string]string{"proc/net/rpc/nfs": rpcNFS})
	n, err := newNFS(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	got := readAll(t, clock(nil), n)
	expect(t, got, map[cell]string{
		{"nfs3.client.calls", ""}: "253", {"nfs3.client.reqs", "null"}: "1", {"nfs3.client.reqs", "commit"}: "22",
		{"rpc.client.rpccnt", ""}: "1000", {"rpc.client.rpcretrans", ""}: "3", {"rpc.client.rpcauthrefresh", ""}: "1001",
		{"rpc.client.nettcpconn", ""}: "2",
	})
	for _, d := range n.total.Metrics {
		if server := strings.Contains(d.Name, "server"); server != (d.Unsupported != "") {
			t.Errorf("%s: unsupported %q", d.Name, d.Unsupported)
		}
	}
}

func FuzzNFS(f *testing.F) {
	f.Add([]byte(rpcNFS))
	f.Add([]byte("proc3\nproc3 99 1\nrpc\n"))
	root := tree(f, map[string]string{"proc/net/rpc/nfs": rpcNFS})
	n, err := newNFS(root)
	if err != nil {
		f.Fatal(err)
	}
	fs := framesOf(n)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fr := range fs {
			fr.Reset(clock(nil).Now())
			if fr.Full() == n.total {
				fr.Row(nil)
				n.sides[0].fillTotal(fr, data)
			} else {
				for i := range n.ops {
					fr.Row(&n.ops[i])
				}
				n.sides[0].fillOps(fr, 0, data)
			}
		}
	})
}

// login writes a utmp record.
func login(kind byte, user string, size int) string {
	b := make([]byte, size)
	b[0] = kind
	copy(b[utmpUser:], user)
	return string(b)
}

func TestUsers(t *testing.T) {
	for _, size := range []int{384, 400} {
		data := login(2, "reboot", size) + login(7, "root", size) + login(7, "ann", size) + login(7, "", size) +
			login(0, "old", size) + login(8, "gone", size) + "cut off"
		if got, want := countUtmp([]byte(data), size), (logins{users: 2, roots: 1, sessions: 4}); got != want {
			t.Errorf("records of %d: %+v, want %+v", size, got, want)
		}
	}
	root := tree(t, map[string]string{
		"run/systemd/sessions/1":     "# comment\nUID=0\nUSER=root\nCLASS=user\n",
		"run/systemd/sessions/1.ref": "",
		"run/systemd/sessions/c2":    "UID=112\nCLASS=greeter\n",
		"run/systemd/sessions/3":     "UID=1000\nCLASS=user\n",
	})
	u, err := newUsers(root)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	expect(t, readAll(t, clock(nil), u), map[cell]string{
		{"kernel.all.nusers", ""}: "2", {"kernel.all.nroots", ""}: "1", {"kernel.all.nsessions", ""}: "3",
	})
	none, err := newUsers(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if none.group.Metrics[0].Unsupported == "" {
		t.Error("a system without any record of logins is not marked")
	}
}

func FuzzUtmp(f *testing.F) {
	f.Add([]byte(login(7, "root", 384)))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := countUtmp(data, 384)
		if n.roots > n.users || n.users > n.sessions || n.sessions > uint64(len(data)/384) {
			t.Errorf("%+v", n)
		}
	})
}
