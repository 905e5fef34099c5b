package catalog

import (
	"testing"
	"time"

	"tachograph/sample/metric"
)

// TestTelemetry compares the catalog's rows of the telemetry service with the inventory: its
// 243 sysctls by name, and the metrics that it computes.
func TestTelemetry(t *testing.T) {
	n := 0
	for _, row := range facts(t, "sysctl_inventory.tsv") {
		if row["class"] == "" {
			continue
		}
		n++
		ttl := time.Duration(0)
		if row["ttl_seconds"] != "" {
			ttl, _ = time.ParseDuration(row["ttl_seconds"] + "s")
		}
		class, err := metric.ParseClass(row["class"])
		if err != nil {
			t.Fatal(err)
		}
		name := row["name"]
		got, ok := FindTelemetry(name)
		if want := (Telemetry{row["category"], class, ttl}); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		d := Find(Darwin, name)
		if d == nil {
			t.Errorf("there is no metric %s", name)
		} else if d.Class != class {
			t.Errorf("%s is %s, there %s", name, d.Class, class)
		}
	}
	if n != 243 {
		t.Errorf("the inventory has %d of its sysctls", n)
	}
	computed := Prefix(Darwin, "computed.")
	for _, d := range computed {
		if got, _ := FindTelemetry(d.Name); got != (Telemetry{"computed", metric.Polled, 10 * time.Second}) || d.Class != metric.Polled {
			t.Errorf("%s: %v, %s", d.Name, got, d.Class)
		}
	}
	if len(computed) != 7 || len(telemetryByName()) != 250 || len(TelemetryCategories()) != 32 {
		t.Errorf("%d computed of %d in %d categories", len(computed), len(telemetryByName()), len(TelemetryCategories()))
	}
	names := TelemetryNames()
	if len(names) != 250 || names[0] != "hw.activecpu" || names[249] != "computed.vfs_reclamation_pct" {
		t.Errorf("%d names: %q", len(names), names)
	}
}

// A category of the service has exactly its own metrics on Darwin.
func TestTelemetryCategoriesAreExact(t *testing.T) {
	theirs := make(map[string]bool)
	for _, c := range TelemetryCategories() {
		theirs[c] = true
	}
	var names []string
	for _, d := range For(Darwin) {
		names = append(names, d.Name)
	}
	for _, row := range facts(t, "sysctl_inventory.tsv") {
		names = append(names, row["name"])
	}
	for _, name := range names {
		if _, ok := FindTelemetry(name); !ok && theirs[Category(name)] {
			t.Errorf("%s is in %s, which does not have it", name, Category(name))
		}
	}
}

func TestCategory(t *testing.T) {
	for name, want := range map[string]string{
		"vm.pages":               "vm.pages",
		"vm.loadavg":             "vm.misc",
		"kernel.all.load":        "kernel.all",
		"network.tcpconn.listen": "network.tcpconn",
		"swap.used":              "swap",
		"kern.ipc.nmbclusters":   "kern.ipc",
		"kern.ipc.another":       "kern.ipc.other",
		"vfs.another":            "vfs.other",
		"vm.another":             "vm",
		"proc.io.a.b.c":          "proc.io",
		"one":                    "one",
		"":                       "",
	} {
		if got := Category(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
