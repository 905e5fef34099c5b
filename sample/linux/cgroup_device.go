package linux

import (
	"bytes"
	"os"
	"path/filepath"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// groupDevice is what a group does with one block device.
type groupDevice struct {
	number string // "8:0"
	name   string
	in     metric.Instance
	raw    [len(groupDeviceFields)]uint64 // as the kernel counts
	base   [len(groupDeviceFields)]uint64 // what that began with
	has    uint8                          // the fields that the kernel counts, as bits
	round  uint64
}

const labelDevice = "device"

// groupDeviceFields are the words in a line of io.stat, and the metrics.
var groupDeviceFields = [...]string{"rbytes", "wbytes", "rios", "wios", "dbytes", "dios"}

// Fields of bytes.
const (
	deviceReadBytes = iota
	deviceWriteBytes
)

// groupDeviceFiles are the files that have these numbers. Those of version 1 have a line for each
// number, "8:0 Read 5", and words has the fields of their words.
var groupDeviceFiles = [...]struct {
	one        bool
	tree, name string
	words      map[string]int
}{
	{name: "io.stat"},
	{one: true, tree: "blkio", name: "blkio.throttle.io_service_bytes_recursive", words: map[string]int{"Read": 0, "Write": 1, "Discard": 4}},
	{one: true, tree: "blkio", name: "blkio.throttle.io_serviced_recursive", words: map[string]int{"Read": 2, "Write": 3, "Discard": 5}},
}

func (d *groupDevice) ended() {
	for i := range d.raw {
		d.base[i] += d.raw[i]
		d.raw[i] = 0
	}
}

// set takes a number in. A device that was taken out and put in again counts from zero.
func (d *groupDevice) set(field int, v uint64) {
	if v < d.raw[field] {
		d.base[field] += d.raw[field]
	}
	d.raw[field] = v
	d.has |= 1 << field
}

// readDevices takes in what a file says of the devices of a group.
func (g *cgroups) readDevices(m *member[cgroup], data []byte, words map[string]int) {
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		number, l := word(l)
		if !bytes.ContainsRune(number, ':') {
			continue // the total of version 1
		}
		if words != nil {
			which, l := word(l)
			field, known := words[string(which)]
			w, _ := word(l)
			if v, ok := unsigned(w); known && ok {
				g.device(m, number).set(field, v)
			}
			continue
		}
		for len(l) > 0 {
			var w []byte
			w, l = word(l)
			name, text, _ := bytes.Cut(w, equals)
			for field, is := range groupDeviceFields {
				if string(name) == is {
					if v, ok := unsigned(text); ok {
						g.device(m, number).set(field, v)
					}
				}
			}
		}
	}
}

// device returns the device of a group with a number.
func (g *cgroups) device(m *member[cgroup], number []byte) *groupDevice {
	for _, d := range m.data.devices {
		if d.number == string(number) {
			d.round = g.reading
			return d
		}
	}
	g.lastDevice++
	d := &groupDevice{number: string(number), name: g.deviceName(string(number)), round: g.reading}
	key := m.data.path + "::" + d.name
	d.in = metric.Instance{ID: g.lastDevice, Key: key, Name: key}
	d.in.Labels = append(append(d.in.Labels, m.in.Labels...), metric.Label{Name: labelDevice, Value: d.name})
	m.data.devices = append(m.data.devices, d)
	return d
}

// deviceName returns the name of the block device with a number.
func (g *cgroups) deviceName(number string) string {
	name, known := g.deviceNames[number]
	if !known {
		target, err := os.Readlink(g.root + "/sys/dev/block/" + number)
		if name = number; err == nil {
			name = filepath.Base(target)
		}
		g.deviceNames[number] = name
	}
	return name
}

// fillDevices adds the rows of a group's devices.
func (g *cgroups) fillDevices(f *sample.Frame, m *member[cgroup]) {
	for _, d := range m.data.devices {
		if d.round != g.reading {
			continue
		}
		row := f.Row(&d.in)
		for i := range d.raw {
			if d.has&(1<<i) != 0 {
				f.SetUint(row, i, d.base[i]+d.raw[i])
			} else {
				f.SetMissing(row, i, tooOld)
			}
		}
	}
}

// fillDeviceSums sets what the group did with all devices.
func (g *cgroups) fillDeviceSums(f *sample.Frame, row int, d *cgroup) {
	var read, written uint64
	for _, dev := range d.devices {
		read += dev.base[deviceReadBytes] + dev.raw[deviceReadBytes]
		written += dev.base[deviceWriteBytes] + dev.raw[deviceWriteBytes]
	}
	if d.devicesWhy != metric.Present {
		f.SetMissing(row, groupReadBytes, d.devicesWhy)
		f.SetMissing(row, groupWriteBytes, d.devicesWhy)
		return
	}
	f.SetUint(row, groupReadBytes, read)
	f.SetUint(row, groupWriteBytes, written)
}
