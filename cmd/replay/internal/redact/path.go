package redact

import (
	"strings"
)

// Paths keep the directories that every system has, so that they still show where a file was: a
// system program, a volume, a user's home.

// path maps a path. Its last part is taken for a program, as most are; a process with that name
// has the same pseudonym.
func (m *Mapping) path(s string) string {
	if s == "" || s == "/" {
		return s
	}
	// The kernel adds this to the path of a deleted file.
	if rest, ok := strings.CutSuffix(s, " (deleted)"); ok {
		return m.path(rest) + " (deleted)"
	}
	parts := strings.Split(s, "/")
	for i, part := range parts {
		parts[i] = m.part(parts, i, part, i == len(parts)-1, aProcess)
	}
	return strings.Join(parts, "/")
}

// mountPoint maps the mount point of a volume.
func (m *Mapping) mountPoint(s string) string {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		parts[i] = m.part(parts, i, part, i == len(parts)-1, aVolume)
	}
	return strings.Join(parts, "/")
}

// part maps a part of a path; the parts before it are already mapped. Known directories stay
// wherever they are.
func (m *Mapping) part(parts []string, i int, s string, last bool, ends kind) string {
	before := ""
	if i > 0 {
		before = parts[i-1]
	}
	switch {
	case s == "" || s == "." || s == "..":
		return s
	case before == "Users" || before == "home":
		if s == "Shared" || s == "Guest" {
			return s
		}
		return m.user(s)
	case before == "Volumes" && i >= 2 && parts[i-2] == "System" && knownDirectory(s):
		return s
	case before == "Volumes" || before == "media" || before == "mnt":
		return m.learn(aVolume, s)
	case knownDirectory(s) && (!last || ends != aProcess):
		return s
	case isDigits(s), isDigits(strings.TrimLeft(s, "vV")):
		return s
	case last && ends == aProcess:
		if knownDirectory(s) {
			return s
		}
		return m.process(s)
	case last:
		return m.learn(ends, s)
	}
	// A bundle has the name of its program.
	for _, suffix := range bundles {
		if stem, ok := strings.CutSuffix(s, suffix); ok && stem != "" {
			return m.process(stem) + suffix
		}
	}
	return m.learn(aDirectory, s)
}

// bundles are the suffixes of program directories.
var bundles = []string{".app", ".framework", ".xpc", ".appex", ".bundle", ".kext", ".dext", ".systemextension", ".plugin"}

// device maps the source of a mount: a device, a pool, another host's directory.
func (m *Mapping) device(s string) string {
	switch {
	case s == "" || plainDevices(s):
		return s
	case strings.HasPrefix(s, "/dev/mapper/"):
		return "/dev/mapper/" + m.learn(aVolume, s[len("/dev/mapper/"):])
	case strings.HasPrefix(s, "/dev/") && diskNames(s[len("/dev/"):]):
		return s
	case strings.HasPrefix(s, "/dev/"):
		return "/dev/" + m.learn(aDevice, s[len("/dev/"):])
	case strings.HasPrefix(s, "map "):
		return "map " + m.learn(aName, s[len("map "):])
	case strings.HasPrefix(s, "//"):
		return m.share("//", s[2:], "/")
	case strings.HasPrefix(s, "/"):
		return m.mountPoint(s)
	}
	if host, path, ok := strings.Cut(s, ":/"); ok {
		return m.server(host) + ":/" + strings.TrimPrefix(m.mountPoint("/"+path), "/")
	}
	if snapshot, device, ok := strings.Cut(s, "@"); ok && strings.HasPrefix(device, "/dev/") {
		return m.learn(aVolume, snapshot) + "@" + m.device(device)
	}
	parts := strings.Split(s, "/")
	for i := range parts {
		parts[i] = m.learn(aVolume, parts[i])
	}
	return strings.Join(parts, "/")
}

// share maps "[USER[:PASSWORD]@]HOST/PATH".
func (m *Mapping) share(head, s, sep string) string {
	host, path, _ := strings.Cut(s, sep)
	if user, at, ok := strings.Cut(host, "@"); ok {
		user, _, _ = strings.Cut(user, ":")
		return head + m.user(user) + "@" + m.server(at) + sep + strings.TrimPrefix(m.mountPoint("/"+path), "/")
	}
	return head + m.server(host) + sep + strings.TrimPrefix(m.mountPoint("/"+path), "/")
}

// server maps the name or address of another host.
func (m *Mapping) server(s string) string {
	if isAddress(s) {
		return m.learn(anAddress, s)
	}
	return m.host(s)
}

// plainDevices are used in place of a device where there is none.
var plainDevices = pattern(`none|overlay|tmpfs|devtmpfs|devfs|proc|sysfs|udev|rootfs|fdescfs|map auto_home|map -hosts|map -fstab|virtiofs|shm|cgroup2?`)
