package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// host describes the machine and the system. Everything in it is read once per archive.
type host struct {
	root  string
	group *metric.Group
}

func newHost(root string) (*host, error) {
	h := &host{root: root}
	return h, h.Refresh()
}

func (h *host) Name() string            { return "host" }
func (h *host) Groups() []*metric.Group { return []*metric.Group{h.group} }
func (h *host) Close() error            { return nil }

var hostNames = []string{
	"kernel.uname.sysname", "kernel.uname.nodename", "kernel.uname.release", "kernel.uname.version",
	"kernel.uname.machine", "kernel.uname.distro", "pmda.uname", "pmda.version", "hinv.machine", "platform",
	"hinv.pagesize", "hinv.nnode",
}

func (h *host) Refresh() error {
	h.group = catalog.Group(catalog.Linux, "host", hostNames...)
	for i, d := range h.group.Metrics {
		if d.Type == metric.String && h.text(i) == "" {
			d.Unsupported = "the system does not tell: " + d.Source
		}
	}
	return nil
}

func (h *host) text(col int) string {
	switch hostNames[col] {
	case "kernel.uname.sysname":
		return firstLine(h.root + "/proc/sys/kernel/ostype")
	case "kernel.uname.nodename":
		return firstLine(h.root + "/proc/sys/kernel/hostname")
	case "kernel.uname.release":
		return firstLine(h.root + "/proc/sys/kernel/osrelease")
	case "kernel.uname.version":
		return firstLine(h.root + "/proc/sys/kernel/version")
	case "kernel.uname.machine":
		return h.arch()
	case "kernel.uname.distro":
		return distro(h.root)
	case "pmda.uname":
		parts := []string{h.text(0), h.text(1), h.text(2), h.text(3), h.text(4)}
		return strings.TrimSpace(strings.Join(parts, " "))
	case "pmda.version":
		return sample.Version()
	case "hinv.machine":
		if product := firstLine(h.root + "/sys/class/dmi/id/product_name"); product != "" {
			return product
		}
		if model, err := os.ReadFile(h.root + "/proc/device-tree/model"); err == nil && len(model) > 0 {
			return strings.TrimRight(string(model), "\x00\n")
		}
		return h.arch()
	case "platform":
		return catalog.Linux.Name()
	}
	return ""
}

// arch is the processor architecture as uname prints it. Kernels before 6.1 have no file for it;
// on them it is the architecture that the recorder was built for.
func (h *host) arch() string {
	if a := firstLine(h.root + "/proc/sys/kernel/arch"); a != "" {
		return a
	}
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "386":
		return "i686"
	}
	return runtime.GOARCH
}

func (h *host) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		for i, d := range h.group.Metrics {
			switch {
			case !f.Wants(i):
			case d.Name == "hinv.pagesize":
				f.SetUint(row, i, uint64(os.Getpagesize()))
			case d.Name == "hinv.nnode":
				nodes, _ := filepath.Glob(h.root + "/sys/devices/system/node/node[0-9]*")
				f.SetUint(row, i, uint64(max(len(nodes), 1)))
			default:
				f.SetString(row, i, h.text(i))
			}
		}
	}
	return nil
}

// firstLine returns the first line of a small file, or "".
func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	l, _ := line(data)
	return strings.TrimSpace(string(l))
}

// distro is the distribution's name for itself.
func distro(root string) string {
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		data, err := os.ReadFile(root + path)
		if err != nil {
			continue
		}
		for l := range strings.Lines(string(data)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(l), "PRETTY_NAME="); ok {
				return strings.Trim(v, `"'`)
			}
		}
	}
	return ""
}
