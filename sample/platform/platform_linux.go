package platform

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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

// Now reads the three clocks. The clock that includes sleep comes last, so that compared with
// the others it is late, never early. It is the only one that takes a system call: the wall
// clock and the awake one, which time.Now reads, are mapped into the process.
func Now() metric.Stamp {
	now := time.Now()
	var cont unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &cont)
	return metric.Stamp{Wall: now.UnixNano(), Awake: awakeZero().at(now), Cont: cont.Nano()}
}

// awakeAt is the awake clock at a reading of time.Now.
type awakeAt struct {
	time  time.Time
	awake int64
}

func (z awakeAt) at(t time.Time) int64 { return z.awake + int64(t.Sub(z.time)) }

// awakeZero relates time.Now to the awake clock. time.Now measures by that clock but does not
// expose its reading. Of several attempts the quickest is the most accurate.
var awakeZero = sync.OnceValue(func() awakeAt {
	var best awakeAt
	quickest := int64(math.MaxInt64)
	for range 16 {
		var before, after unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		now := time.Now()
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if took := after.Nano() - before.Nano(); took < quickest {
			best, quickest = awakeAt{now, before.Nano() + took/2}, took
		}
	}
	return best
})

// Slept returns ok false: Linux does not keep when the machine last slept.
func Slept() (sleep, wake time.Time, ok bool) { return sleep, wake, false }

// ThisHost describes the machine.
func ThisHost() metric.Host {
	var u unix.Utsname
	unix.Uname(&u)
	h := metric.Host{
		ID: identity(machineID()), Name: unix.ByteSliceToString(u.Nodename[:]),
		OS: unix.ByteSliceToString(u.Sysname[:]), Release: unix.ByteSliceToString(u.Release[:]),
		Arch: unix.ByteSliceToString(u.Machine[:]), Model: firstFile("/sys/class/dmi/id/product_name", "/proc/device-tree/model"),
		Platform: Catalog.Name(),
	}
	if name := osName(); name != "" {
		h.Labels = append(h.Labels, label("product", name))
	}
	h.Labels = append(h.Labels, label("version", unix.ByteSliceToString(u.Version[:])), label("cpus", strconv.Itoa(processors(firstFile("/proc/stat")))))
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.Labels = append(h.Labels, label("memory", strconv.FormatUint(uint64(info.Totalram)*uint64(info.Unit), 10)))
	}
	return h
}

// machineID is the machine's own identifier, which does not leave it.
func machineID() string { return firstFile("/etc/machine-id", "/var/lib/dbus/machine-id") }

// processors counts the machine's processors that are online: runtime.NumCPU counts only those
// that this process may use.
func processors(stat string) int {
	n := 0
	for line := range strings.Lines(stat) {
		if number, ok := strings.CutPrefix(line, "cpu"); ok && number != "" && number[0] >= '0' && number[0] <= '9' {
			n++
		}
	}
	if n == 0 {
		return runtime.NumCPU()
	}
	return n
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

// Usage is this process's processor time and memory.
func Usage() engine.Usage {
	u := engine.Usage{}
	u.User, u.System = processorTime()
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

// OnBattery reports whether the machine runs on its battery: it has one, and no connected mains
// adapter.
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
