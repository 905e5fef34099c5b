package darwin

import (
	"os"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// Host describes this machine. It leaves empty what it cannot find out.
func Host() Identity {
	var h Identity
	for _, x := range []struct {
		into *string
		name string
	}{
		{&h.Name, "kern.hostname"},
		{&h.OS, "kern.ostype"},
		{&h.Release, "kern.osrelease"},
		{&h.Build, "kern.osversion"},
		{&h.Product, "kern.osproductversion"},
		{&h.Arch, "hw.machine"},
		{&h.Model, "hw.model"},
		{&h.Processor, "machdep.cpu.brand_string"},
	} {
		if v, err := sys.SysctlText(x.name); err == nil {
			*x.into = v
		}
	}
	if n, err := sys.SysctlUint("hw.ncpu"); err == nil {
		h.Cores = int(n)
	}
	h.MemoryBytes, _ = sys.SysctlUint("hw.memsize")
	translated, err := sys.SysctlUint("sysctl.proc_translated")
	h.Translated = err == nil && translated == 1
	h.HardwareUUID = HardwareUUID()
	return h
}

// Time reads a sysctl that is a struct timeval; ok is false for a time of zero.
func Time(name string) (time.Time, bool) {
	mib, err := sys.Lookup(name)
	if err != nil {
		return time.Time{}, false
	}
	var b [16]byte
	n, errno := sys.Sysctl(mib, b[:])
	if errno != 0 {
		return time.Time{}, false
	}
	us, ok := decode.Micros(b[:n])
	return time.UnixMicro(int64(us)), ok && us != 0
}

// HardwareUUID identifies the machine for its lifetime; empty if the registry does not have it.
func HardwareUUID() string {
	key := sys.NewKey("IOPlatformUUID")
	defer key.Release()
	var buf [64]byte
	uuid := ""
	err := sys.Services(sys.NewClass("IOPlatformExpertDevice"), func(x sys.Service) bool {
		v := x.Property(key)
		defer v.Release()
		if b, ok := v.Text(buf[:]); ok {
			uuid = string(b)
		}
		return false
	})
	if err != nil {
		return ""
	}
	return uuid
}

// systemVersion is the file with macOS's name and version.
const systemVersion = "/System/Library/CoreServices/SystemVersion.plist"

const (
	colDistro = iota
	colUname
	colVersion
)

// identitySource supplies the names of the system that no single sysctl has. It builds them
// again when one of the sysctls has changed.
type identitySource struct {
	group  *metric.Group
	round  uint64
	parts  []*node // of the line that names the kernel
	build  *node
	values [colVersion + 1]string
}

func newIdentitySource() *identitySource { return &identitySource{} }

func (s *identitySource) Name() string            { return "identity" }
func (s *identitySource) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *identitySource) Close() error            { return nil }

func (s *identitySource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "identity", "kernel.uname.distro", "pmda.uname", "pmda.version")
	s.values[colVersion] = sample.Version()
	s.parts = nil
	for _, name := range []string{"kern.ostype", "kern.hostname", "kern.osrelease", "kern.version", "hw.machine"} {
		n := optional(name, 512)
		if n == nil {
			s.group.Metrics[colUname].Unsupported = "this kernel has no sysctl " + name
			s.parts = nil
			break
		}
		s.parts = append(s.parts, n)
	}
	s.build = optional("kern.osversion", 64)
	if s.look(); s.values[colDistro] == "" {
		s.group.Metrics[colDistro].Unsupported = "neither " + systemVersion + " nor the kernel tells"
	}
	return nil
}

// look builds the names whose parts have changed.
func (s *identitySource) look() {
	s.round++
	if s.build == nil || s.changed(s.build) || s.values[colDistro] == "" {
		s.values[colDistro] = distro()
	}
	renamed := false
	for _, n := range s.parts {
		renamed = s.changed(n) || renamed
	}
	if renamed {
		var parts []string
		for _, n := range s.parts {
			parts = append(parts, n.text)
		}
		s.values[colUname] = strings.Join(parts, " ")
	}
}

// changed reports whether a readable sysctl has changed.
func (s *identitySource) changed(n *node) bool {
	before := n.text
	return n.read(s.round) && n.string() != before
}

func (s *identitySource) Read(c *sample.Context, frames []*sample.Frame) error {
	s.look()
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		for col, v := range s.values {
			if v != "" {
				f.SetString(row, col, v)
			}
		}
	}
	return nil
}

// distro is the product's name and version. The file has both; if it is unreadable, the kernel
// still knows the version.
func distro() string {
	plist, err := os.ReadFile(systemVersion)
	if err == nil {
		name, version := plistString(plist, "ProductName"), plistString(plist, "ProductVersion")
		if name != "" && version != "" {
			return name + " " + version
		}
	}
	version, err := sys.SysctlText("kern.osproductversion")
	if err != nil {
		return ""
	}
	return "macOS " + version
}
