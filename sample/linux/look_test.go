package linux

import (
	"slices"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// seen returns the sources that see a change, after refreshing them.
func seen(t *testing.T, sources []sample.Source) (names []string) {
	t.Helper()
	for _, s := range sources {
		if !s.(sample.Looker).Look() {
			continue
		}
		names = append(names, s.Name())
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		if s.(sample.Looker).Look() {
			t.Errorf("%s: Refresh did not find what Look saw", s.Name())
		}
	}
	return names
}

// Each thing that appears after the start is seen by its source, and by no other one.
func TestLateComers(t *testing.T) {
	root := tree(t, map[string]string{"proc/stat": "cpu  1 2 3 4\n", "proc/meminfo": "MemTotal: 1 kB\n"})
	sources, err := Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	var events []metric.Event
	defer func() {
		for _, s := range sources {
			s.Close()
		}
	}()
	c := clock(&events)
	for _, s := range sources {
		readAll(t, c, s)
	}
	if names := seen(t, sources); names != nil {
		t.Errorf("%v saw something where nothing changed", names)
	}
	for _, step := range []struct {
		name   string
		files  map[string]string
		source string
		cell   cell
		want   string
	}{
		{"a battery", map[string]string{"sys/class/power_supply/BAT0/type": "Battery\n", "sys/class/power_supply/BAT0/capacity": "81\n",
			"sys/class/power_supply/BAT0/status": "Charging\n"}, "power", cell{"power.battery.charge", ""}, "81"},
		{"the mains", map[string]string{"sys/class/power_supply/AC/type": "Mains\n", "sys/class/power_supply/AC/online": "1\n"},
			"power", cell{"power.ac.connected", ""}, "1"},
		{"a sensor", map[string]string{"sys/class/hwmon/hwmon0/name": "coretemp\n", "sys/class/hwmon/hwmon0/temp1_input": "61000\n"},
			"thermal", cell{"thermal.cpu.die", ""}, "61"},
		{"a fan", map[string]string{"sys/class/hwmon/hwmon1/name": "nct6775\n", "sys/class/hwmon/hwmon1/fan1_input": "900\n"},
			"thermal", cell{"thermal.fan.speed", "nct6775 fan1"}, "900"},
		{"another fan", map[string]string{"sys/class/hwmon/hwmon1/fan2_input": "800\n"}, "thermal", cell{"thermal.fan.speed", "nct6775 fan2"}, "800"},
		{"a zone", map[string]string{"sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n", "sys/class/thermal/thermal_zone0/temp": "54500\n"},
			"thermal", cell{"thermal.package", ""}, "54.5"},
		{"graphics", map[string]string{"sys/class/drm/card0/device/gpu_busy_percent": "37\n"}, "gpu", cell{"gpu.util", "card0"}, "37"},
		{"more graphics", map[string]string{"sys/class/drm/card1/device/gpu_busy_percent": "38\n"}, "gpu", cell{"hinv.ngpu", ""}, "2"},
		{"NFS", map[string]string{"proc/net/rpc/nfs": rpcNFS}, "nfs", cell{"nfs3.client.calls", ""}, ""},
		{"a tunable", map[string]string{"proc/sys/vm/swappiness": "60\n"}, "tunables", cell{"vm.swappiness", ""}, "60"},
		{"a line of a file", map[string]string{"proc/meminfo": "MemTotal: 1 kB\nMemFree: 77 kB\n"}, "meminfo", cell{"mem.freemem", ""}, "77"},
		{"a file", map[string]string{"proc/net/snmp6": "Ip6InReceives 5\n"}, "snmp6", cell{"network.ip6.inreceives", ""}, "5"},
		{"pressure", map[string]string{"proc/pressure/cpu": "some avg10=0.63 avg60=0.89 avg300=0.99 total=12058987\n"},
			"pressure", cell{"kernel.all.pressure.cpu.some.total", ""}, "12058987"},
	} {
		t.Run(step.name, func(t *testing.T) {
			for path, text := range step.files {
				write(t, root, path, text)
			}
			if names := seen(t, sources); !slices.Equal(names, []string{step.source}) {
				t.Fatalf("%v saw it, want %s", names, step.source)
			}
			for _, s := range sources {
				if s.Name() == step.source {
					if v, ok := readAll(t, c, s)[step.cell]; !ok || v.Miss != metric.Present || step.want != "" && v.String() != step.want {
						t.Errorf("%v is %s (%s), %v", step.cell, v, v.Miss, ok)
					}
				}
			}
		})
	}
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	if want := []string{"graphics card card0 appeared", "graphics card card1 appeared"}; !slices.Equal(texts, want) {
		t.Errorf("events %q, want %q", texts, want)
	}
}

// On an idle machine no source sees a change.
func TestLookingSeesNothingNew(t *testing.T) {
	needLinux(t)
	sources, err := Sources("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if s.(sample.Looker).Look() {
			t.Errorf("%s sees a change", s.Name())
		}
	}
	for _, s := range sources {
		s.Close()
	}
}

func BenchmarkLook(b *testing.B) {
	needLinux(b)
	sources, err := Sources("")
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range sources {
		b.Run(s.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.(sample.Looker).Look()
			}
		})
	}
}
