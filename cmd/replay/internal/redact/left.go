package redact

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// left collects, while copying, what stays in a recording and may identify its machine.
type left struct {
	hosts    []metric.Host
	programs map[string]bool
	devices  map[string]bool
	ifaces   map[string]bool
	mounts   map[string]bool
	peers    bool // connections, or ports that are listened on
	reports  bool // whose texts were kept
}

func put(set *map[string]bool, s string) {
	if *set == nil {
		*set = make(map[string]bool)
	}
	if len(*set) < mostKept {
		(*set)[s] = true
	}
}

func (l *left) host(h metric.Host) { l.hosts = append(l.hosts, h) }

func (l *left) instance(indom string, in, out *metric.Instance) {
	l.reports = l.reports || indom == metric.DomainReport
	l.peers = l.peers || indom == "connection" || indom == "listener"
	if in.Name != out.Name || in.Name == "" {
		return
	}
	switch indom {
	case "process":
		put(&l.programs, in.Title())
	case "interface":
		put(&l.ifaces, in.Name)
	case "disk":
		put(&l.devices, in.Name)
	case "filesys":
		put(&l.mounts, in.Name)
	}
}

// Left returns sentences about what stays in the mapped data and could still identify the
// machine to a person who knows it.
func (m *Mapping) Left() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	add("times: when it was recorded, when the machine started, slept and woke, and when processes started and ended")
	var zoned bool
	seen := make(map[string]bool)
	for _, h := range m.left.hosts {
		text := strings.Join(slices.DeleteFunc([]string{h.Model, h.Label("cpu"), cpus(h), h.Arch}, func(s string) bool { return s == "" }), ", ")
		if text != "" && !seen[text] {
			seen[text] = true
			add("the hardware: %s; how much memory it has", text)
		}
		text = strings.Join(slices.DeleteFunc([]string{h.Label("product"), h.Label("build"), h.OS, h.Release}, func(s string) bool { return s == "" }), ", ")
		if text != "" && !seen[text] {
			seen[text] = true
			add("the system: %s, and its kernel's version and settings in numbers", text)
		}
		zoned = true
	}
	if zoned {
		add("the time zone")
	}
	add("numbers: sizes of disks and volumes, how much each process used, pids, counters since the machine started, addresses in memory")
	if n := len(m.left.programs); n > 0 {
		add("names of %s that many machines run: %s", count(n, "program"), some(m.left.programs))
	}
	if n := len(m.left.ifaces) + len(m.left.devices); n > 0 {
		names := make(map[string]bool)
		for _, set := range []map[string]bool{m.left.ifaces, m.left.devices} {
			for s := range set {
				names[s] = true
			}
		}
		add("names that the kernel gives devices: %s; models, makers and drivers of devices", some(names))
	}
	if len(m.left.mounts) > 0 {
		add("directories that every system has: %s; types of volumes", some(m.left.mounts))
	}
	if m.left.peers {
		add("ports of connections, and which peers are this machine itself or have private addresses")
	}
	if m.left.reports {
		add("how long the system's reports are; their texts, which the recorder had kept, are left out")
	}
	add("names of users and groups that systems bring along, and their numbers")
	add("terminals, states, and functions of the kernel that processes waited in; the recorder's version, and its settings that are numbers or its own words")
	add("names of metrics, those of the kernel's own settings among them, and which class is read how often")
	add("words of the recorder in its sentences about what happened")
	if m.names.digits == digitsOfFleet {
		add("who has the key can find out whether a name occurs: keep it as you would the names")
	}
	return all
}

func cpus(h metric.Host) string {
	if n := h.Label("cpus"); n != "" {
		return n + " processors"
	}
	return ""
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// some lists the first names of a set.
func some(set map[string]bool) string {
	names := make([]string, 0, len(set))
	for s := range set {
		names = append(names, s)
	}
	slices.Sort(names)
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " ..."
	}
	return strings.Join(names, ", ")
}
