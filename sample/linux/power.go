package linux

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// power reads /sys/class/power_supply: the first battery, and whether mains
// power is connected.
type power struct {
	root    string
	group   *metric.Group
	battery map[string]*file // files of the battery by name
	mains   []*file
	state   string
}

// Columns of the group.
const (
	powerAC = iota
	powerSource
	powerPresent
	powerCharge
	powerCharging
	powerCycles
	powerVoltage
	powerAmperage
	powerDesign
	powerMax
	powerHealth
	powerTemperature
	powerRemaining
	powerLeft
	powerEnergy
)

// batteryFiles are the files that each column of the battery needs, all of them; "|" separates
// alternatives, of which the first that exists is read.
var batteryFiles = map[int][]string{
	powerPresent: {"present|capacity"}, powerCharge: {"capacity"}, powerCharging: {"status"}, powerCycles: {"cycle_count"},
	powerVoltage: {"voltage_now"}, powerAmperage: {"current_now", "status"},
	powerDesign: {"charge_full_design"}, powerMax: {"charge_full"},
	powerHealth:      {"charge_full|energy_full", "charge_full_design|energy_full_design"},
	powerTemperature: {"temp"}, powerRemaining: {"status"},
	powerLeft: {"charge_now"}, powerEnergy: {"energy_now"},
}

// Why a battery's time is absent.
var (
	notEstimated = metric.ReasonFor("the battery's driver does not estimate it")
	batteryRests = metric.ReasonFor("the battery neither charges nor empties")
)

const nanojoulesPerMicrowattHour = 3_600_000

func newPower(root string) (*power, error) {
	p := &power{root: root}
	return p, p.Refresh()
}

func (p *power) Name() string            { return "power" }
func (p *power) Groups() []*metric.Group { return []*metric.Group{p.group} }

func (p *power) Close() error {
	for _, f := range p.battery {
		f.close()
	}
	for _, f := range p.mains {
		f.close()
	}
	return nil
}

func (p *power) Refresh() error {
	p.Close()
	p.group = catalog.Group(catalog.Linux, "power", "power.ac.connected", "power.source", "power.battery.present",
		"power.battery.charge", "power.battery.charging", "power.battery.cycle_count", "power.battery.voltage",
		"power.battery.amperage", "power.battery.capacity.design", "power.battery.capacity.max",
		"power.battery.health", "power.battery.temperature", "power.battery.time_remaining",
		"power.battery.capacity.now", "power.battery.energy.now")
	p.battery, p.mains = nil, nil
	supplies, _ := filepath.Glob(p.root + "/sys/class/power_supply/*")
	for _, dir := range supplies {
		switch firstLine(dir + "/type") {
		case "Battery":
			// A mouse has a battery too, with the scope "Device".
			if p.battery == nil && firstLine(dir+"/scope") != "Device" {
				p.battery = make(map[string]*file)
				for _, names := range batteryFiles {
					p.open(dir, names)
				}
				p.open(dir, []string{"time_to_empty_now", "time_to_full_now"})
			}
		case "Mains", "USB", "Wireless":
			f := newFile(dir + "/online")
			if _, err := f.read(); err == nil {
				p.mains = append(p.mains, f)
			}
		}
	}
	for i, d := range p.group.Metrics {
		switch {
		case i == powerAC || i == powerSource:
			if len(p.mains) == 0 && p.battery == nil {
				d.Unsupported = "this machine tells of no power supply"
			}
		case p.battery == nil:
			d.Unsupported = "this machine has no battery"
		default:
			for _, alternatives := range batteryFiles[i] {
				if p.find(alternatives) == nil {
					d.Unsupported = "this battery does not tell its " + alternatives
				}
			}
		}
	}
	return nil
}

// other reports whether the power supplies have changed.
func (p *power) other(fresh sample.Source) bool {
	now := fresh.(*power)
	return !slices.EqualFunc(p.mains, now.mains, samePath) ||
		!maps.EqualFunc(p.battery, now.battery, samePath)
}

func samePath(a, b *file) bool { return a.path == b.path }

func (p *power) open(dir string, names []string) {
	for _, alternatives := range names {
		for name := range strings.SplitSeq(alternatives, "|") {
			if p.battery[name] != nil {
				continue
			}
			f := newFile(dir + "/" + name)
			if _, err := f.read(); err == nil {
				p.battery[name] = f
			}
		}
	}
}

func (p *power) find(alternatives string) *file {
	for {
		name, rest, more := strings.Cut(alternatives, "|")
		if f := p.battery[name]; f != nil {
			return f
		}
		if !more {
			return nil
		}
		alternatives = rest
	}
}

// number reads a number from a file of the battery.
func (p *power) number(alternatives string) (int64, bool) {
	f := p.find(alternatives)
	if f == nil {
		return 0, false
	}
	data, err := f.read()
	if err != nil {
		return 0, false
	}
	w, _ := word(data)
	return integer(w)
}

// status is the state of the battery: Charging, Discharging, Full, Not charging.
func (p *power) status() string {
	f := p.battery["status"]
	if f == nil {
		return ""
	}
	data, err := f.read()
	if err != nil {
		return ""
	}
	l, _ := line(data)
	if string(l) != p.state {
		p.state = string(l)
	}
	return p.state
}

func (p *power) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		f.Row(nil)
		p.fillSupply(f)
		if p.battery != nil {
			p.fillBattery(f)
		}
		f.MissRow(0, notUnderstood)
	}
	return nil
}

func (p *power) fillSupply(f *sample.Frame) {
	online := false
	for _, m := range p.mains {
		data, err := m.read()
		if w, _ := word(data); err == nil && len(w) > 0 && w[0] != '0' {
			online = true
		}
	}
	status := p.status()
	if len(p.mains) == 0 {
		// Without a mains adapter to ask, a battery that charges or stays full shows that there is
		// mains power.
		online = status == "Charging" || status == "Full" || status == "Not charging"
	}
	if online {
		f.SetUint(0, powerAC, 1)
		f.SetString(0, powerSource, "AC Power")
	} else {
		f.SetUint(0, powerAC, 0)
		f.SetString(0, powerSource, "Battery Power")
	}
}

func (p *power) fillBattery(f *sample.Frame) {
	status := p.status()
	charging := uint64(0)
	if status == "Charging" {
		charging = 1
	}
	f.SetUint(0, powerCharging, charging)
	if v, ok := p.number("present"); ok {
		f.SetUint(0, powerPresent, uint64(min(max(v, 0), 1)))
	} else {
		f.SetUint(0, powerPresent, 1)
	}
	set := func(col int, name string, divide int64) {
		if v, ok := p.number(name); ok {
			f.SetInt(0, col, v/divide)
		}
	}
	set(powerCharge, "capacity", 1)
	set(powerCycles, "cycle_count", 1)
	set(powerVoltage, "voltage_now", 1000)
	set(powerDesign, "charge_full_design", 1000)
	set(powerMax, "charge_full", 1000)
	set(powerLeft, "charge_now", 1000)
	if v, ok := p.number("energy_now"); ok && v >= 0 && v < math.MaxInt64/nanojoulesPerMicrowattHour {
		f.SetUint(0, powerEnergy, uint64(v)*nanojoulesPerMicrowattHour)
	}
	if v, ok := p.number("current_now"); ok {
		// Drivers disagree about the sign; the status does not.
		v = max(v, -v) / 1000
		if status == "Discharging" {
			v = -v
		}
		f.SetInt(0, powerAmperage, v)
	}
	full, ok := p.number("charge_full|energy_full")
	design, known := p.number("charge_full_design|energy_full_design")
	if ok && known && design > 0 && full >= 0 {
		f.SetUint(0, powerHealth, uint64(min(full*100/design, 100)))
	}
	if v, ok := p.number("temp"); ok {
		f.SetFloat(0, powerTemperature, float64(v)/10)
	}
	name := "time_to_empty_now"
	switch status {
	case "Charging":
		name = "time_to_full_now"
	case "Full", "Not charging":
		f.SetMissing(0, powerRemaining, batteryRests)
		return
	}
	if v, ok := p.number(name); ok && v > 0 {
		f.SetInt(0, powerRemaining, v/60)
	} else {
		f.SetMissing(0, powerRemaining, notEstimated)
	}
}
