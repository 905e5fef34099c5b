package linux

import (
	"path/filepath"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// thermal reads temperatures and fans from /sys/class/hwmon and
// /sys/class/thermal.
type thermal struct {
	root   string
	single *metric.Group
	perFan *metric.Group
	temps  [thermalFans]*file
	fans   []fan
}

// fan is a fan and the files of its columns; nil for missing ones.
type fan struct {
	in    metric.Instance
	files [5]*file
}

// Columns of the group without instances.
const (
	thermalPackage = iota
	thermalCPU
	thermalGPU
	thermalAmbient
	thermalFans // number of fans
)

// chips maps the drivers' names of sensor chips to what they measure.
var chips = map[string]int{
	"coretemp": thermalCPU, "k10temp": thermalCPU, "zenpower": thermalCPU, "cpu_thermal": thermalCPU,
	"amdgpu": thermalGPU, "nouveau": thermalGPU, "radeon": thermalGPU, "i915": thermalGPU, "xe": thermalGPU,
	"acpitz": thermalAmbient,
}

// Columns of the group of fans.
const (
	fanSpeed = iota
	fanMin
	fanMax
	fanTarget
	fanMode
)

func newThermal(root string) (*thermal, error) {
	t := &thermal{root: root}
	return t, t.Refresh()
}

func (t *thermal) Name() string            { return "thermal" }
func (t *thermal) Groups() []*metric.Group { return []*metric.Group{t.single, t.perFan} }

func (t *thermal) Close() error {
	for _, f := range t.temps {
		if f != nil {
			f.close()
		}
	}
	for i := range t.fans {
		for _, f := range t.fans[i].files {
			if f != nil {
				f.close()
			}
		}
	}
	return nil
}

func (t *thermal) Refresh() error {
	t.Close()
	t.single = catalog.Group(catalog.Linux, "thermal", "thermal.package", "thermal.cpu.die", "thermal.gpu.die",
		"thermal.ambient", "hinv.nfan")
	t.perFan = catalog.Group(catalog.Linux, "fan", "thermal.fan.speed", "thermal.fan.min", "thermal.fan.max",
		"thermal.fan.target", "thermal.fan.mode")
	t.temps = [thermalFans]*file{}
	t.fans = nil
	t.findZone()
	t.findChips()
	for i, f := range t.temps {
		if f == nil {
			t.single.Metrics[i].Unsupported = "this machine has no such sensor that a driver knows"
		}
	}
	for i, d := range t.perFan.Metrics {
		has := false
		for _, f := range t.fans {
			has = has || f.files[i] != nil
		}
		if !has {
			d.Unsupported = "this machine has no fan that a driver knows"
			if len(t.fans) > 0 {
				d.Unsupported = "the drivers of this machine's fans do not tell"
			}
		}
	}
	return nil
}

// other reports whether the fans or the sensors have changed.
func (t *thermal) other(fresh sample.Source) bool {
	now := fresh.(*thermal)
	if len(now.fans) != len(t.fans) {
		return true
	}
	for i := range now.fans {
		if now.fans[i].in.Key != t.fans[i].in.Key {
			return true
		}
	}
	for i := range now.temps {
		if a, b := now.temps[i], t.temps[i]; (a == nil) != (b == nil) || a != nil && a.path != b.path {
			return true
		}
	}
	return false
}

// try opens a file that contains a number; otherwise it returns nil.
func try(path string) *file {
	f := newFile(path)
	if data, err := f.read(); err == nil {
		if w, _ := word(data); len(w) > 0 {
			if _, ok := integer(w); ok {
				return f
			}
		}
	}
	f.close()
	return nil
}

// findZone chooses the thermal zone of the processor package, else the first zone.
func (t *thermal) findZone() {
	zones, _ := filepath.Glob(t.root + "/sys/class/thermal/thermal_zone*")
	for _, dir := range zones {
		kind := firstLine(dir + "/type")
		best := kind == "x86_pkg_temp" || strings.HasPrefix(kind, "cpu")
		if t.temps[thermalPackage] != nil && !best {
			continue
		}
		if f := try(dir + "/temp"); f != nil {
			if old := t.temps[thermalPackage]; old != nil {
				old.close()
			}
			t.temps[thermalPackage] = f
			if best {
				return
			}
		}
	}
}

func (t *thermal) findChips() {
	dirs, _ := filepath.Glob(t.root + "/sys/class/hwmon/hwmon*")
	for _, dir := range dirs {
		chip := firstLine(dir + "/name")
		if at, ok := chips[chip]; ok && t.temps[at] == nil {
			t.temps[at] = try(dir + "/temp1_input")
		}
		inputs, _ := filepath.Glob(dir + "/fan[0-9]*_input")
		for _, input := range inputs {
			speed := try(input)
			if speed == nil {
				continue
			}
			stem := strings.TrimSuffix(filepath.Base(input), "_input")
			name := chip + " " + stem
			for i := range t.fans {
				if t.fans[i].in.Key == name {
					name = chip + " " + filepath.Base(dir) + " " + stem
				}
			}
			f := fan{files: [5]*file{
				fanSpeed:  speed,
				fanMin:    try(dir + "/" + stem + "_min"),
				fanMax:    try(dir + "/" + stem + "_max"),
				fanTarget: try(dir + "/" + stem + "_target"),
				fanMode:   try(dir + "/pwm" + strings.TrimPrefix(stem, "fan") + "_enable"),
			}}
			f.in = metric.Instance{ID: uint64(len(t.fans) + 1), Key: name, Name: name}
			if label := firstLine(dir + "/" + stem + "_label"); label != "" {
				f.in.Labels = []metric.Label{{Name: "label", Value: label}}
			}
			t.fans = append(t.fans, f)
		}
	}
}

func (t *thermal) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == t.single {
			f.Row(nil)
			for i, temp := range t.temps {
				if temp != nil && f.Wants(i) {
					fillNumber(f, 0, i, temp, 1000)
				}
			}
			f.SetUint(0, thermalFans, uint64(len(t.fans)))
			continue
		}
		for i := range t.fans {
			row := f.Row(&t.fans[i].in)
			for col, file := range t.fans[i].files {
				switch {
				case !f.Wants(col):
				case file == nil:
					f.SetMissing(row, col, metric.Unsupported)
				case col == fanMode:
					t.fillMode(f, row, file)
				default:
					fillNumber(f, row, col, file, 1)
				}
			}
		}
	}
	return nil
}

// fillNumber sets a floating point cell from a file that holds a number.
func fillNumber(f *sample.Frame, row, col int, from *file, divide float64) {
	data, err := from.read()
	w, _ := word(data)
	if v, ok := integer(w); ok && err == nil {
		f.SetFloat(row, col, float64(v)/divide)
		return
	}
	f.SetMissing(row, col, why(err))
}

// fillMode reads how a fan is controlled: 1 by hand, 2 and more by the chip.
func (t *thermal) fillMode(f *sample.Frame, row int, from *file) {
	data, err := from.read()
	w, _ := word(data)
	v, ok := unsigned(w)
	if !ok || err != nil {
		f.SetMissing(row, fanMode, why(err))
		return
	}
	manual := uint64(0)
	if v == 1 {
		manual = 1
	}
	f.SetUint(row, fanMode, manual)
}
