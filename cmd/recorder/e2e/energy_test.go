//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// A discharge of the simulated Mac adds up: owners and residual are together what its battery
// lost, by the charge and the voltage of each of its readings, to far less than a mWh.
func TestDischargeAddsUp(t *testing.T) {
	t.Parallel()
	s := machine(t, `include "macbook-m.scn"
ioreg { at "AppleSmartBattery" { prop "AppleRawCurrentCapacity" int counter 3801 -0.5; prop "Voltage" int counter 12480 -3 } }`+beginning)
	s.config = "[classes]\npolled = \"2s\"\nprocess = \"2s\"\n[budget]\nmax_cpu = \"off\"\n"
	s.recordFrom(5, "30s", 9)

	of := s.values("power.battery.capacity.now", "power.battery.voltage")
	charges := of[darwintest.Series{Metric: "power.battery.capacity.now"}]
	voltages := of[darwintest.Series{Metric: "power.battery.voltage"}]
	number := func(r reading) float64 {
		x, err := strconv.ParseFloat(r.value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	lost := 0.0 // in joules: 1 mAh at 1 mV is 3.6 mJ
	for i := range charges[1:] {
		lost += (number(charges[i]) - number(charges[i+1])) * (number(voltages[i]) + number(voltages[i+1])) / 2 * 0.0036
	}
	sum, rows, owners := 0.0, make(map[string]float64), 0
	for _, r := range s.rows("energy", "--on-battery", "-n", "2") {
		joules, err := r["energy_joules"].(json.Number).Float64()
		if err != nil {
			t.Fatal(err)
		}
		rows[r.text("row")] += joules
		if r.text("row") != "given" {
			sum += joules
		}
		if r.text("row") == "owner" {
			owners++
		}
	}
	if lost < 200 || math.Abs(rows["given"]-lost) > 1e-5 || math.Abs(sum-lost) > 1e-5 || owners == 0 || rows["residual"] <= 0 {
		t.Errorf("in %d readings the battery lost %v J; the rows add up to %v J: %v", len(charges), lost, sum, rows)
	}
}
