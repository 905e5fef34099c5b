package platform

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/engine"
	"tachograph/sample/linux"
	"tachograph/sample/metric"
)

// Catalog is the platform's table of metrics.
const Catalog = catalog.Linux

// Sources opens everything that can be read here.
func Sources(opt Options) ([]sample.Source, error) {
	return join(opt, func() ([]sample.Source, error) { return linux.Sources(opt.Root) })
}

// Now reads the three clocks. The awake clock comes first, so that whoever
// compares the others with it sees them late, never early.
func Now() metric.Stamp {
	var wall, awake, cont unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake)
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &cont)
	unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
	return metric.Stamp{Wall: wall.Nano(), Awake: awake.Nano(), Cont: cont.Nano()}
}

// Slept is when the machine last slept: Linux does not keep it.
func Slept() (sleep, wake time.Time, ok bool) { return sleep, wake, false }

// ThisHost describes the machine.
func ThisHost() Host {
	var u unix.Utsname
	unix.Uname(&u)
	h := Host{
		ID: identity(firstFile("/etc/machine-id", "/var/lib/dbus/machine-id")), Name: unix.ByteSliceToString(u.Nodename[:]),
		OS: unix.ByteSliceToString(u.Sysname[:]), Release: unix.ByteSliceToString(u.Release[:]),
		Arch: unix.ByteSliceToString(u.Machine[:]), Model: firstFile("/sys/class/dmi/id/product_name", "/proc/device-tree/model"),
		Platform: "linux",
	}
	if name := osName(); name != "" {
		h.Labels = append(h.Labels, label("product", name))
	}
	h.Labels = append(h.Labels, label("version", unix.ByteSliceToString(u.Version[:])), label("cpus", strconv.Itoa(runtime.NumCPU())))
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.Labels = append(h.Labels, label("memory", strconv.FormatUint(uint64(info.Totalram)*uint64(info.Unit), 10)))
	}
	return h
}

func firstFile(paths ...string) string {
	for _, p := range paths {
		if text, err := os.ReadFile(p); err == nil {
			return strings.TrimRight(strings.TrimSpace(string(text)), "\x00")
		}
	}
	return ""
}

func osName() string {
	for line := range strings.Lines(firstFile("/etc/os-release", "/usr/lib/os-release")) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// BootID is unique to this boot of the machine.
func BootID() string { return firstFile("/proc/sys/kernel/random/boot_id") }

// Usage is what this process uses.
func Usage() engine.Usage {
	u := engine.Usage{}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		u.User, u.System = time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			page := int64(os.Getpagesize())
			size, _ := strconv.ParseInt(f[0], 10, 64)
			resident, _ := strconv.ParseInt(f[1], 10, 64)
			u.Virtual, u.Resident = size*page, resident*page
		}
	}
	return u
}

// OnBattery reports whether the machine runs on its battery: it has one, and
// no mains adapter that delivers.
func OnBattery() bool {
	supplies, _ := filepath.Glob("/sys/class/power_supply/*/type")
	battery := false
	for _, p := range supplies {
		dir := filepath.Dir(p)
		switch firstFile(p) {
		case "Battery":
			battery = battery || firstFile(filepath.Join(dir, "scope")) != "Device"
		case "Mains", "USB":
			if firstFile(filepath.Join(dir, "online")) == "1" {
				return false
			}
		}
	}
	return battery
}
