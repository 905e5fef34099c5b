package platform

import (
	"strconv"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// Catalog is the platform's table of metrics.
const Catalog = catalog.Darwin

// Sources opens everything that can be read here.
func Sources(opt Options) ([]sample.Source, error) {
	flows := new(socket.Flows)
	opt.Network.flows = flows
	return join(opt, func() ([]sample.Source, error) { return darwin.Sources(flows) })
}

// Now reads the three clocks.
func Now() metric.Stamp { return darwin.Now() }

// Slept is when the machine last fell asleep and woke.
func Slept() (sleep, wake time.Time, ok bool) {
	sleep, ok1 := darwin.Time("kern.sleeptime")
	wake, ok2 := darwin.Time("kern.waketime")
	return sleep, wake, ok1 && ok2
}

// ThisHost describes the machine.
func ThisHost() metric.Host {
	id := darwin.Host()
	h := metric.Host{
		ID: identity(machineID()), Name: id.Name, OS: id.OS, Release: id.Release, Arch: id.Arch, Model: id.Model, Platform: Catalog.Name(),
	}
	add := func(name, value string) {
		if value != "" && value != "0" {
			h.Labels = append(h.Labels, label(name, value))
		}
	}
	add("product", strings.TrimSpace("macOS "+id.Product))
	add("build", id.Build)
	add("cpu", id.Processor)
	add("cpus", strconv.Itoa(id.Cores))
	add("memory", strconv.FormatUint(id.MemoryBytes, 10))
	if id.Translated {
		add("translated", "yes")
	}
	return h
}

// machineID is the machine's own identifier, which does not leave it.
func machineID() string { return darwin.Host().HardwareUUID }

// BootID is unique to this boot of the machine.
func BootID() string {
	id, _ := sys.SysctlText("kern.bootsessionuuid")
	return id
}

// OnBattery reports whether the machine runs on its battery.
func OnBattery() bool { return darwin.OnBattery() }

// Usage is this process's processor time and memory.
func Usage() engine.Usage {
	u := engine.Usage{}
	u.User, u.System = processorTime()
	u.Resident, u.Virtual = darwin.Memory()
	return u
}
