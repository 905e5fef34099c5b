package owner

import (
	"bytes"
	"strings"
)

// longestLine is how much is kept of all groups of a process.
const longestLine = 1000

// Line joins the lines of a /proc/PID/cgroup into one, as ps writes them: "cpu:/;memory:/".
func Line(text []byte) string {
	var b []byte
	for l := range bytes.Lines(text) {
		if _, rest, ok := bytes.Cut(bytes.TrimSuffix(l, []byte{'\n'}), []byte{':'}); ok {
			if len(b) > 0 {
				b = append(b, ';')
			}
			b = append(b, rest...)
		}
	}
	return clean(string(b), longestLine)
}

// outside begins the path of a group that is not below the root of the reader's own cgroup
// namespace.
const outside = "/.."

// Path chooses from a /proc/PID/cgroup the path that says most. Where version 1 and 2 are used
// side by side, systemd names its units in both or in one of them, and other programs make
// groups for some resources only: the path with most parts is taken, and of equally long ones
// that of version 2, then systemd's.
func Path(text []byte) string {
	best, depth, rank := []byte("/"), -1, 0
	for l := range bytes.Lines(text) {
		_, rest, ok := bytes.Cut(bytes.TrimSuffix(l, []byte{'\n'}), []byte{':'})
		if !ok {
			continue
		}
		controllers, path, ok := bytes.Cut(rest, []byte{':'})
		if !ok || len(path) == 0 || path[0] != '/' {
			continue
		}
		path = bytes.TrimSuffix(path, []byte(" (deleted)"))
		d := 0
		for part := range bytes.SplitSeq(path[1:], []byte{'/'}) {
			if len(part) > 0 && string(part) != ".." {
				d++
			}
		}
		if r := rankOf(string(controllers)); d > depth || d == depth && r > rank {
			best, depth, rank = path, d, r
		}
	}
	return string(best)
}

// rankOf orders lines with paths of the same length.
func rankOf(controllers string) int {
	switch controllers {
	case "":
		return 5 // version 2
	case "name=systemd":
		return 4
	case "memory":
		return 3
	case "cpu", "cpu,cpuacct", "cpuacct,cpu", "cpuacct":
		return 2
	case "pids":
		return 1
	}
	return 0
}

// Found is what the path of a control group says of the processes in it.
type Found struct {
	Unit      string // the innermost unit of systemd that is no session, app or container
	Session   string // number of a login session
	UID       string // of the user whose slice the group is in
	App       string // identifier of an app, as the desktop has it
	Container InContainer
	Pod       string // number of a pod
	Outside   bool   // the group is in another cgroup namespace, and the start of its path unknown
}

// InContainer is a container as the path of its control group names it.
type InContainer struct {
	ID   string // 64 digits, or what the runtime uses instead
	Name string // if the path has it
	// Runtime is "docker", "libpod", "cri-containerd" or another word of the path, or "".
	Runtime string
	// Namespace is that of containerd, if the path has it.
	Namespace string
}

// Number returns the whole number of the container, or what its runtime uses instead; "" if there
// is no container.
func (c *InContainer) Number() string { return clean(c.ID, longest) }

// OfPath returns what the path of a control group says. Of containers inside each other the
// outermost counts, of units the innermost: a container may have a systemd of its own.
func OfPath(path string) (f Found) {
	f.Outside = path == outside || strings.HasPrefix(path, outside+"/")
	before, depth, last := "", 0, ""
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == ".." {
			continue
		}
		depth++
		f.take(part, before, depth)
		before = part
		if _, kind := splitUnit(part); kind == "slice" {
			last = part
		}
	}
	if f.Unit+f.Session+f.App+f.Pod == "" && f.Container == (InContainer{}) && depth > 0 {
		if f.Unit = last; before != last {
			f.Unit = path // nobody we know of makes such groups
		}
	}
	return f
}

// take takes in one part of a path, after the part before it.
func (f *Found) take(part, before string, depth int) {
	// Without systemd, runc takes a name that is meant for it as one part: SLICE:PREFIX:NUMBER.
	if slice, rest, ok := strings.Cut(part, ":"); ok && hex64(afterLast(rest, ':')) {
		f.pod(slice, before)
		prefix, id, _ := strings.Cut(rest, ":")
		f.contain(InContainer{ID: id, Runtime: prefix})
		return
	}
	if f.pod(part, before) {
		return
	}
	if c, ok := f.container(part, before, depth); ok {
		f.contain(c)
		return
	}
	contained := f.Container != (InContainer{})
	name, kind := splitUnit(part)
	switch kind {
	case "":
		if strings.HasPrefix(part, "lxc.monitor.") {
			f.Unit = part
		}
		return
	case "slice":
		if uid, ok := strings.CutPrefix(name, "user-"); ok && allDigits(uid) && !contained {
			f.UID = uid
		}
		if app := appOf(name, kind); app != "" {
			f.App, f.Unit = app, ""
		}
		return
	case "scope":
		if id, ok := strings.CutPrefix(name, "session-"); ok && f.UID != "" && !contained {
			f.Session, f.Unit = id, ""
			return
		}
		if name == "init" && f.Unit != "" || f.App != "" {
			return // of the user's manager, or what a terminal runs
		}
	}
	if app := appOf(name, kind); app != "" {
		f.App, f.Unit = app, ""
		return
	}
	f.Unit = shorten(part)
}

// contain takes in a container, unless it is inside another.
func (f *Found) contain(c InContainer) {
	if f.Container == (InContainer{}) {
		f.Container = c
		if strings.HasPrefix(f.Unit, "user@") {
			f.Unit = "" // it starts everything of its user
		}
	}
}

// pod reports whether part names a pod, or a slice above those of pods.
func (f *Found) pod(part, before string) bool {
	name, kind := splitUnit(part)
	if kind != "" && kind != "slice" || f.Pod != "" {
		return false
	}
	inPods := before == "burstable" || before == "besteffort" || strings.HasSuffix(before, "kubepods")
	switch libpod, isLibpod := strings.CutPrefix(name, "machine-libpod_pod_"); {
	case strings.Contains(name, "kubepods"), inPods && strings.HasPrefix(name, "pod"):
		uid := strings.ReplaceAll(name[strings.LastIndex(name, "pod")+len("pod"):], "_", "-")
		if !podNumber(uid) {
			return strings.Contains(name, "kubepods")
		}
		f.Pod = uid
	case isLibpod && hex64(libpod):
		f.Pod = libpod[:shortNumber]
	case strings.HasPrefix(name, "ecstasks-"):
		f.Pod = "ecs/" + name[len("ecstasks-"):]
	case before == "ecs" && len(part) >= 32 && kind == "":
		f.Pod = "ecs/" + part
	default:
		return false
	}
	return true
}

// podNumber reports whether s is the number of a pod: a UUID, or the 32 digits of a pod that
// the node itself starts.
func podNumber(s string) bool {
	if len(s) == 36 {
		s = strings.ReplaceAll(s, "-", "")
	}
	return len(s) == 32 && hex(s)
}

// container returns the container that a part of a path names.
func (f *Found) container(part, before string, depth int) (c InContainer, ok bool) {
	name := strings.TrimSuffix(part, ".scope")
	if n := len(name) - 64; n == 0 && hex(name) || n > 0 && hex64(name[n:]) && name[n-1] == '-' {
		c = InContainer{ID: name[n:], Runtime: strings.TrimSuffix(name[:n], "-")}
		switch c.Runtime {
		case "libpod-conmon", "crio-conmon":
			return c, false // a program that watches the container
		case "libpod-payload":
			c.Runtime = "libpod"
		case "":
			switch before {
			case "k8s.io", "moby", "default":
				c.Runtime, c.Namespace = "containerd", before
			case "docker":
				c.Runtime = before
			}
		}
		return c, true
	}
	unit, kind := splitUnit(part)
	who := ""
	switch {
	case kind == "service":
		who, _ = strings.CutPrefix(unit, "systemd-nspawn@")
		if who == unit {
			who = ""
		}
		c.Runtime = "nspawn"
	case kind == "scope" && before == "qemu.slice":
		who, c.Runtime = unit, "qemu"
	case kind == "scope" && before == "machine.slice" && strings.HasPrefix(unit, "machine-"):
		// A virtual machine or container of libvirt has its driver and a number before the name.
		who, c.Runtime = Unescape(unit[len("machine-"):]), "machine"
		for _, driver := range []string{"qemu", "lxc"} {
			if rest, ok := strings.CutPrefix(who, driver+"-"); ok {
				if number, name, ok := strings.Cut(rest, "-"); ok && allDigits(number) {
					who, c.Runtime = name, driver
				}
			}
		}
	case strings.HasPrefix(part, "lxc.payload."):
		who, c.Runtime = part[len("lxc.payload."):], "lxc"
	case depth == 2 && (before == "lxc" || before == "lxc.payload"):
		who, c.Runtime = part, "lxc"
	case depth == 2 && before == "default" && kind == "":
		who, c.Runtime, c.Namespace = part, "containerd", before
	case before == "buildkit" && kind == "":
		return InContainer{ID: part, Name: before, Runtime: before}, true
	case strings.HasPrefix(f.Pod, "ecs/") && before == f.Pod[len("ecs/"):]:
		who, c.Runtime = part, "ecs"
	default:
		return containerOfNomad(name)
	}
	c.ID = Unescape(who)
	c.Name = c.ID
	return c, who != ""
}

// containerOfNomad reads ALLOCATION.TASK, where the allocation is a UUID.
func containerOfNomad(name string) (c InContainer, ok bool) {
	const uuid = 36
	if len(name) <= uuid+1 || name[uuid] != '.' || !podNumber(name[:uuid]) {
		return c, false
	}
	return InContainer{ID: name, Name: name[uuid+1:] + "-" + name[:8], Runtime: "nomad"}, true
}
