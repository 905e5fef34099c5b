package darwintest

import (
	"math"
	"strconv"
	"strings"
)

// parents maps a class of the I/O registry to its base class.
var parents = map[string]string{
	"IONVMeBlockStorageDriver": "IOBlockStorageDriver", "AppleAPFSVolume": "AppleAPFSMedia", "AppleAPFSMedia": "IOMedia",
	"AGXAcceleratorG13G": "AGXAccelerator", "AGXAcceleratorG13X": "AGXAccelerator", "AGXAcceleratorG14G": "AGXAccelerator",
	"AGXAcceleratorG16G": "AGXAccelerator", "AGXAccelerator": "IOGPU", "IOGPU": "IOAccelerator",
	"IntelAccelerator": "IOGraphicsAccelerator2", "AMDRadeonX6000_AMDNavi14GraphicsAccelerator": "IOGraphicsAccelerator2",
	"IOGraphicsAccelerator2": "IOAccelerator", "AppleSMCKeysEndpoint": "AppleSMC",
}

func (o *object) is(class string) bool {
	for _, c := range o.conforms {
		if c == class {
			return true
		}
	}
	for c := o.class; c != ""; c = parents[c] {
		if c == class {
			return true
		}
	}
	return false
}

// objects lists the existing objects of a class, in the registry's order.
func (x *expecting) objects(class string) []*object {
	var list []*object
	var visit func(*object)
	visit = func(o *object) {
		if !o.alive(x.T) {
			return
		}
		if o.is(class) {
			list = append(list, o)
		}
		for _, c := range o.children {
			visit(c)
		}
	}
	visit(x.registry)
	return list
}

func prop(list []*property, name string) *property {
	for _, p := range list {
		if p.name == name {
			return p
		}
	}
	return nil
}

// number returns a property's number, also of one inside a dictionary.
func (x *expecting) number(list []*property, path ...string) (int64, bool) {
	p := prop(list, path[0])
	if p == nil {
		return 0, false
	}
	if len(path) > 1 {
		return x.number(p.sub, path[1:]...)
	}
	return p.value.at(x.T).n, p.kind != "string"
}

func (x *expecting) text(list []*property, name string) string {
	if p := prop(list, name); p != nil {
		return p.value.at(x.T).text
	}
	return ""
}

func (x *expecting) disks() {
	all := make(map[string]uint64)
	disks := int64(0)
	for _, driver := range x.objects("IOBlockStorageDriver") {
		var medium *object
		for _, c := range driver.children {
			if whole, _ := x.number(c.props, "Whole"); c.is("IOMedia") && whole != 0 && c.alive(x.T) && medium == nil {
				medium = c
			}
		}
		if medium == nil {
			continue
		}
		disks++
		v := func(key string) uint64 {
			n, _ := x.number(driver.props, "Statistics", key)
			return uint64(n)
		}
		block, _ := x.number(medium.props, "Preferred Block Size")
		values := map[string]uint64{
			"read": v("Operations (Read)"), "write": v("Operations (Write)"), "total": v("Operations (Read)") + v("Operations (Write)"),
			"read_bytes": v("Bytes (Read)"), "write_bytes": v("Bytes (Write)"), "total_bytes": v("Bytes (Read)") + v("Bytes (Write)"),
			"read_time": v("Latency Time (Read)"), "write_time": v("Latency Time (Write)"),
			"total_time":      v("Latency Time (Read)") + v("Latency Time (Write)"),
			"total_read_time": v("Total Time (Read)"), "total_write_time": v("Total Time (Write)"),
			"read_errors": v("Errors (Read)"), "write_errors": v("Errors (Write)"),
			"read_retries": v("Retries (Read)"), "write_retries": v("Retries (Write)"),
		}
		if block > 0 {
			values["blkread"], values["blkwrite"] = v("Bytes (Read)")/uint64(block), v("Bytes (Write)")/uint64(block)
			values["blktotal"] = values["blkread"] + values["blkwrite"]
		}
		for name, n := range values {
			all[name] += n
			x.u("disk.dev."+name, x.text(medium.props, "BSD Name"), inKilobytes(name, n))
		}
	}
	for name, n := range all {
		x.u("disk.all."+name, "", inKilobytes(name, n))
	}
	x.i("hinv.ndisk", "", disks)
}

func inKilobytes(name string, n uint64) uint64 {
	if strings.HasSuffix(name, "_bytes") {
		return n / 1024
	}
	return n
}

func (x *expecting) apfs() {
	containers, volumes := x.objects("AppleAPFSContainer"), x.objects("AppleAPFSVolume")
	x.i("disk.apfs.ncontainer", "", int64(len(containers)))
	x.i("disk.apfs.nvolume", "", int64(len(volumes)))
	for i, c := range containers {
		instance := x.text(c.props, "UUID")
		if instance == "" {
			instance = "container" + strconv.Itoa(i)
		}
		if n, ok := x.number(c.props, "ContainerBlockSize"); ok {
			x.i("disk.apfs.container.block_size", instance, n)
		}
		for metric, key := range map[string]string{
			"bytes_read": "Bytes read from block device", "bytes_written": "Bytes written to block device",
			"read_requests": "Read requests sent to block device", "write_requests": "Write requests sent to block device",
			"transactions": "Number of transactions flushed", "cache_hits": "Object cache: Number of hits",
			"cache_evictions": "Object cache: Number of evictions",
			"read_errors":     "Metadata: Number of read errors", "write_errors": "Metadata: Number of write errors",
		} {
			if n, ok := x.number(c.props, "Statistics", key); ok {
				x.i("disk.apfs.container."+metric, instance, n)
			}
		}
	}
	for i, v := range volumes {
		instance := x.text(v.props, "BSD Name")
		if instance == "" {
			instance = x.text(v.props, "Volume Name")
		}
		if instance == "" {
			instance = "volume" + strconv.Itoa(i)
		}
		for metric, key := range map[string]string{"encrypted": "Encrypted", "locked": "Locked"} {
			if n, ok := x.number(v.props, key); ok {
				x.i("disk.apfs.volume."+metric, instance, n)
			}
		}
	}
}

func (x *expecting) gpus() {
	list := x.objects("IOAccelerator")
	x.i("hinv.ngpu", "", int64(len(list)))
	hasOwn := false
	for i, g := range list {
		instance := "gpu" + strconv.Itoa(i)
		util, ok := x.number(g.props, "PerformanceStatistics", "Device Utilization %")
		if !ok {
			util, ok = x.number(g.props, "PerformanceStatistics", "GPU Activity(%)")
		}
		if ok {
			x.i("gpu.util", instance, util)
		}
		used, own := x.number(g.props, "PerformanceStatistics", "vramUsedBytes")
		if !own {
			used, ok = x.number(g.props, "PerformanceStatistics", "In use system memory")
			if ok {
				x.i("gpu.memory.used", instance, used)
			}
			continue
		}
		hasOwn = true
		x.i("gpu.memory.used", instance, used)
		for o := g; o != nil; o = o.parent {
			if mb, ok := x.number(o.props, "VRAM,totalMB"); ok {
				x.i("gpu.memory.free", instance, mb*1048576-used)
				break
			}
		}
	}
	if !hasOwn {
		x.lacks("gpu.memory.free")
	}
}

func (x *expecting) battery() {
	ac := "AC Power"
	var internal *thing
	for _, p := range x.powerSources {
		if p.alive(x.T) && x.text(p.props, "Type") == "InternalBattery" {
			internal = p
			if s := x.text(p.props, "Power Source State"); s != "" {
				ac = s
			}
		}
	}
	x.set("power.source", "", ac)
	connected := int64(0)
	if ac == "AC Power" {
		connected = 1
	}
	x.i("power.ac.connected", "", connected)
	if internal == nil {
		x.lacks("power.battery.present", "power.battery.charging", "power.battery.charge", "power.battery.time_remaining")
	} else {
		v := func(name string) int64 { n, _ := x.number(internal.props, name); return n }
		x.i("power.battery.present", "", v("Is Present"))
		x.i("power.battery.charging", "", v("Is Charging"))
		charge := v("Current Capacity")
		if full := v("Max Capacity"); full > 0 {
			charge = charge * 100 / full
		}
		x.i("power.battery.charge", "", charge)
		switch left := v("Time to Empty"); {
		case v("Is Charging") != 0 && v("Time to Full Charge") >= 0:
			x.i("power.battery.time_remaining", "", v("Time to Full Charge"))
		case v("Is Charging") == 0 && connected == 0 && left >= 0:
			x.i("power.battery.time_remaining", "", left)
		default:
			x.Free["power.battery.time_remaining"] = true
		}
	}
	list := x.objects("AppleSmartBattery")
	if len(list) == 0 {
		x.lacks("power.battery.cycle_count", "power.battery.temperature", "power.battery.voltage", "power.battery.amperage",
			"power.battery.capacity.design", "power.battery.capacity.max", "power.battery.capacity.now", "power.battery.health",
			"power.system.energy")
		return
	}
	b := list[0].props
	for metric, key := range map[string]string{
		"cycle_count": "CycleCount", "voltage": "Voltage", "amperage": "Amperage", "capacity.design": "DesignCapacity",
	} {
		if n, ok := x.number(b, key); ok {
			x.i("power.battery."+metric, "", n)
		}
	}
	if n, ok := x.number(b, "VirtualTemperature"); ok {
		x.f32("power.battery.temperature", "", float64(n)/100)
	} else if n, ok := x.number(b, "Temperature"); ok {
		x.f32("power.battery.temperature", "", float64(n)/10-273.15)
	}
	if mJ, ok := x.number(b, "PowerTelemetryData", "AccumulatedSystemLoad"); ok {
		x.i("power.system.energy", "", mJ*1e6)
	}
	if left, ok := x.number(b, "AppleRawCurrentCapacity"); ok {
		x.i("power.battery.capacity.now", "", left)
	} else if left, ok := x.number(b, "CurrentCapacity"); ok && left > 100 {
		x.i("power.battery.capacity.now", "", left)
	}
	full, ok := x.number(b, "AppleRawMaxCapacity")
	if !ok {
		full, ok = x.number(b, "MaxCapacity")
		ok = ok && full > 100
	}
	if !ok {
		return
	}
	x.i("power.battery.capacity.max", "", full)
	if design, ok := x.number(b, "DesignCapacity"); ok && design > 0 {
		x.i("power.battery.health", "", min(100, full*100/design))
	}
}

// sensor is the value of an SMC key after rounding by its encoding.
func (x *expecting) sensor(key string) (float64, bool) {
	s, ok := x.smc[key]
	if !ok {
		return 0, false
	}
	v := s.value.at(x.T)
	switch {
	case s.encoding == "flt ":
		return float64(float32(v.f)), true
	case strings.HasPrefix(s.encoding, "sp") || strings.HasPrefix(s.encoding, "fp"):
		places, _ := strconv.ParseUint(s.encoding[3:], 16, 8)
		scale := float64(uint64(1) << places)
		return math.Round(v.f*scale) / scale, true
	}
	return float64(v.n), true
}

func (x *expecting) thermal() {
	hasSMC := len(x.objects("AppleSMC")) > 0
	brand, _ := x.answer("machdep.cpu.brand_string")
	cores, graphics := "TC0D TC0E TC0F", "TG0D TGDD"
	switch {
	case strings.HasPrefix(brand.text, "Apple M2"):
		cores, graphics = "Tp01 Tp05 Tp09", "Tg0f Tg0j"
	case strings.HasPrefix(brand.text, "Apple M3"):
		cores, graphics = "Tf04 Tf09", "Tf14 Tf18"
	case strings.HasPrefix(brand.text, "Apple M5"):
		cores, graphics = "Tp00 Tp04", "Tg0U Tg0X"
	}
	for metric, keys := range map[string]string{
		"thermal.cpu.die":       cores,
		"thermal.cpu.proximity": "TC0P TC0p Tc0p",
		"thermal.gpu.die":       graphics,
		"thermal.package":       "TCXC TCXc",
		"thermal.ambient":       "TA0P TA0p TA0V TA0v",
	} {
		found := false
		for _, key := range strings.Fields(keys) {
			if v, ok := x.sensor(key); ok && hasSMC {
				x.f32(metric, "", v)
				found = true
				break
			}
		}
		if !found {
			x.lacks(metric)
		}
	}
	fans, ok := x.sensor("FNum")
	if ok && hasSMC {
		x.i("hinv.nfan", "", int64(fans))
	} else {
		x.lacks("hinv.nfan")
	}
	for metric, suffix := range map[string]string{"speed": "Ac", "target": "Tg", "min": "Mn", "max": "Mx", "mode": "Md"} {
		any := false
		for i := range int(fans) {
			v, ok := x.sensor("F" + strconv.Itoa(i) + suffix)
			if !ok && suffix == "Md" {
				v, ok = x.sensor("F" + strconv.Itoa(i) + "md")
			}
			if !ok || !hasSMC {
				continue
			}
			any = true
			if metric == "mode" {
				x.i("thermal.fan.mode", "fan"+strconv.Itoa(i), int64(v))
			} else {
				x.f32("thermal.fan."+metric, "fan"+strconv.Itoa(i), v)
			}
		}
		if !any {
			x.lacks("thermal.fan." + metric)
		}
	}
	level := int64(0)
	if e := x.notify["com.apple.system.thermalpressurelevel"]; e != nil {
		level = e.at(x.T).n
	}
	x.i("thermal.pressure.level", "", level)
	if words := []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}; level >= 0 && level < int64(len(words)) {
		x.set("thermal.pressure.state", "", words[level])
	}
}
