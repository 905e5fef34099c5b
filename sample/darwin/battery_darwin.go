package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// Columns of the battery's own numbers.
const (
	colCycles = iota
	colTemperature
	colVoltage
	colAmperage
	colDesign
	colFull
	colHealth
)

// Columns of what the power management says.
const (
	colPresent = iota
	colCharging
	colCharge
	colRemaining
)

const (
	colPowerSource = iota
	colAC
)

const noBattery = "this Mac has no battery"

// batterySource asks the battery's driver and the power management.
type batterySource struct {
	battery, charge, power *metric.Group

	service sys.Service
	has     bool

	cycles, voltage, amperage               *sys.Key
	temperature, virtual                    *sys.Key
	design, rawMax, max                     *sys.Key
	kind, present, charging, current, scale *sys.Key
	toFull, toEmpty, state                  *sys.Key
	source                                  string
	text                                    [64]byte
}

func newBatterySource() *batterySource {
	return &batterySource{
		cycles: sys.NewKey("CycleCount"), voltage: sys.NewKey("Voltage"),
		temperature: sys.NewKey("Temperature"), virtual: sys.NewKey("VirtualTemperature"),
		amperage: sys.NewKey("Amperage"), design: sys.NewKey("DesignCapacity"),
		rawMax: sys.NewKey("AppleRawMaxCapacity"), max: sys.NewKey("MaxCapacity"),
		kind: sys.NewKey("Type"), present: sys.NewKey("Is Present"), charging: sys.NewKey("Is Charging"),
		current: sys.NewKey("Current Capacity"), scale: sys.NewKey("Max Capacity"),
		toFull: sys.NewKey("Time to Full Charge"), toEmpty: sys.NewKey("Time to Empty"),
		state: sys.NewKey("Power Source State"),
	}
}

func (s *batterySource) Name() string { return "power" }
func (s *batterySource) Groups() []*metric.Group {
	return []*metric.Group{s.battery, s.charge, s.power}
}

func (s *batterySource) Close() error {
	s.service.Release()
	for _, k := range []*sys.Key{s.cycles, s.temperature, s.virtual, s.voltage, s.amperage, s.design, s.rawMax, s.max,
		s.kind, s.present, s.charging, s.current, s.scale, s.toFull, s.toEmpty, s.state} {
		k.Release()
	}
	return nil
}

func (s *batterySource) Refresh() error {
	s.battery = catalog.Group(catalog.Darwin, "battery",
		"power.battery.cycle_count", "power.battery.temperature", "power.battery.voltage", "power.battery.amperage",
		"power.battery.capacity.design", "power.battery.capacity.max", "power.battery.health")
	s.charge = catalog.Group(catalog.Darwin, "charge",
		"power.battery.present", "power.battery.charging", "power.battery.charge", "power.battery.time_remaining")
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
		unsupported(s.battery, err.Error())
	case !s.has:
		unsupported(s.battery, noBattery)
	}
	found := false
	err = sys.PowerSources(func(d sys.Value) { found = found || s.internal(d) }, func(sys.Value) {})
	switch {
	case err != nil:
		unsupported(s.charge, err.Error())
		unsupported(s.power, err.Error())
	case !found:
		unsupported(s.charge, noBattery)
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
	if f := frameOf(frames, s.battery); f != nil {
		s.readBattery(f, f.Row(nil))
	}
	charge, power := frameOf(frames, s.charge), frameOf(frames, s.power)
	if charge == nil && power == nil {
		return nil
	}
	row := 0
	if charge != nil {
		row = charge.Row(nil)
	}
	err := sys.PowerSources(func(d sys.Value) {
		if charge != nil && s.internal(d) {
			s.readCharge(charge, row, d)
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

// number is one property of the battery's.
func (s *batterySource) number(k *sys.Key) (int64, bool) {
	v := s.service.Property(k)
	defer v.Release()
	return v.Int()
}

func (s *batterySource) readBattery(f *sample.Frame, row int) {
	for col, k := range []*sys.Key{colCycles: s.cycles, colVoltage: s.voltage, colAmperage: s.amperage, colDesign: s.design} {
		if k == nil || !f.Wants(col) {
			continue
		}
		if v, ok := s.number(k); ok {
			if col == colAmperage {
				v = widened(v)
			}
			f.SetInt(row, col, v)
		}
	}
	if f.Wants(colTemperature) {
		virtual, hasVirtual := s.number(s.virtual)
		kelvin, hasKelvin := s.number(s.temperature)
		if c, ok := celsius(virtual, hasVirtual, kelvin, hasKelvin); ok {
			f.SetFloat(row, colTemperature, c)
		}
	}
	if f.Wants(colFull, colHealth) {
		raw, hasRaw := s.number(s.rawMax)
		old, hasOld := s.number(s.max)
		if full, ok := fullCharge(raw, hasRaw, old, hasOld); ok {
			f.SetInt(row, colFull, full)
			design, _ := s.number(s.design)
			if h, ok := health(full, design); ok {
				f.SetUint(row, colHealth, h)
			}
		}
	}
	f.MissRow(row, metric.Unsupported)
}

func (s *batterySource) readCharge(f *sample.Frame, row int, d sys.Value) {
	setInt(f, row, colPresent, d.Get(s.present))
	setInt(f, row, colCharging, d.Get(s.charging))
	if current, ok := d.Get(s.current).Int(); ok {
		scale, _ := d.Get(s.scale).Int()
		f.SetUint(row, colCharge, percent(current, scale))
	} else {
		f.SetMissing(row, colCharge, metric.Unsupported)
	}
	if !f.Wants(colRemaining) {
		return
	}
	charging, _ := d.Get(s.charging).Int()
	toFull, hasFull := d.Get(s.toFull).Int()
	toEmpty, hasEmpty := d.Get(s.toEmpty).Int()
	state, _ := d.Get(s.state).Text(s.text[:])
	minutes, why := remaining(charging != 0, string(state) != acPower, toFull, toEmpty)
	if charging != 0 && !hasFull || charging == 0 && !hasEmpty {
		why = metric.Unsupported
	}
	if why != metric.Present {
		f.SetMissing(row, colRemaining, why)
		return
	}
	f.SetInt(row, colRemaining, minutes)
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

// OnBattery reports whether the machine runs on a battery, its own or that of
// an uninterruptible supply.
func OnBattery() bool {
	var buf [64]byte
	on := false
	err := sys.PowerSources(func(sys.Value) {}, func(kind sys.Value) {
		b, ok := kind.Text(buf[:])
		on = ok && string(b) != acPower
	})
	return err == nil && on
}
