package darwin

import (
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const (
	colPowerSource = iota
	colAC
)

const noBattery = "this Mac has no battery"

// batterySource reads from the battery's driver and the power management.
type batterySource struct {
	battery, charge *rows.Table
	power           *metric.Group

	service sys.Service
	has     bool

	driver, management     *registry
	kind, charging         *sys.Key
	toFull, toEmpty, state *sys.Key
	source                 string
	text                   [64]byte
}

func newBatterySource() *batterySource {
	battery, charge := batteryRows()
	return &batterySource{
		driver: newRegistry(battery.Leaves), management: newRegistry(charge.Leaves, remainingWord),
		kind: sys.NewKey("Type"), charging: sys.NewKey("Is Charging"), state: sys.NewKey("Power Source State"),
		toFull: sys.NewKey("Time to Full Charge"), toEmpty: sys.NewKey("Time to Empty"),
	}
}

func (s *batterySource) Name() string { return "power" }
func (s *batterySource) Groups() []*metric.Group {
	return []*metric.Group{s.battery.Group, s.charge.Group, s.power}
}

func (s *batterySource) Close() error {
	s.service.Release()
	s.driver.close()
	s.management.close()
	for _, k := range []*sys.Key{s.kind, s.charging, s.toFull, s.toEmpty, s.state} {
		k.Release()
	}
	return nil
}

func (s *batterySource) Refresh() error {
	s.battery, s.charge = batteryRows()
	s.power = catalog.Group(catalog.Darwin, "power", "power.source", "power.ac.connected")

	s.service.Release()
	s.service, s.has = sys.Service{}, false
	err := sys.Services(sys.NewClass("AppleSmartBattery"), func(x sys.Service) bool {
		if s.has {
			return false
		}
		s.service, s.has = x, true
		return true
	})
	switch {
	case err != nil:
		unsupported(s.battery.Group, err.Error())
	case !s.has:
		unsupported(s.battery.Group, noBattery)
	}
	found := false
	err = sys.PowerSources(func(d sys.Value) { found = found || s.internal(d) }, func(sys.Value) {})
	switch {
	case err != nil:
		unsupported(s.charge.Group, err.Error())
		unsupported(s.power, err.Error())
	case !found:
		unsupported(s.charge.Group, noBattery)
	}
	return nil
}

// internal reports whether a power source is the Mac's own battery.
func (s *batterySource) internal(d sys.Value) bool {
	b, _ := d.Get(s.kind).Text(s.text[:])
	return string(b) == "InternalBattery"
}

func (s *batterySource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	if f := frameOf(frames, s.battery.Group); f != nil {
		s.driver.ask(s.service)
		s.battery.Fill(f, f.Row(nil), 0, s.driver)
		s.driver.done()
	}
	charge, power := frameOf(frames, s.charge.Group), frameOf(frames, s.power)
	if charge == nil && power == nil {
		return nil
	}
	row := 0
	if charge != nil {
		row = charge.Row(nil)
	}
	err := sys.PowerSources(func(d sys.Value) {
		if charge != nil && s.internal(d) {
			s.management.entries = d // the callback's value, not ours to release
			s.charge.Fill(charge, row, 0, s)
			s.management.entries = sys.Value{}
		}
	}, func(kind sys.Value) {
		if power != nil {
			s.readSource(power, power.Row(nil), kind)
		}
	})
	why := metric.Vanished
	if err != nil {
		why = reasonFor(err)
		if power != nil {
			power.MissRow(power.Row(nil), why)
		}
	}
	if charge != nil {
		charge.MissRow(row, why)
	}
	return nil
}

// Leaf is an entry of the power management's description of the battery, or the remaining time.
func (s *batterySource) Leaf(i int) rows.Value {
	if !strings.HasPrefix(s.charge.Leaves[i].Word, remainingWord) {
		return s.management.Leaf(i)
	}
	d := s.management.entries
	charging, _ := d.Get(s.charging).Int()
	toFull, hasFull := d.Get(s.toFull).Int()
	toEmpty, hasEmpty := d.Get(s.toEmpty).Int()
	state, _ := d.Get(s.state).Text(s.text[:])
	if charging != 0 && !hasFull || charging == 0 && !hasEmpty {
		return rows.Value{Miss: metric.Unsupported}
	}
	minutes, why := remaining(charging != 0, string(state) != acPower, toFull, toEmpty)
	return rows.Value{Bits: uint64(minutes), Miss: why}
}

func (s *batterySource) readSource(f *sample.Frame, row int, kind sys.Value) {
	b, ok := kind.Text(s.text[:])
	if !ok {
		f.MissRow(row, metric.Unsupported)
		return
	}
	if s.source != string(b) {
		s.source = string(b)
	}
	f.SetString(row, colPowerSource, s.source)
	ac := uint64(0)
	if s.source == acPower {
		ac = 1
	}
	f.SetUint(row, colAC, ac)
}

const acPower = "AC Power"

// OnBattery reports whether the machine runs on a battery, its own or that of an uninterruptible
// power supply.
func OnBattery() bool {
	var buf [64]byte
	on := false
	err := sys.PowerSources(func(sys.Value) {}, func(kind sys.Value) {
		b, ok := kind.Text(buf[:])
		on = ok && string(b) != acPower
	})
	return err == nil && on
}
