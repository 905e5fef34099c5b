package owner

import (
	"cmp"
	"strings"
)

// splitUnit splits the name of a unit of systemd; kind is empty if it is none.
func splitUnit(part string) (name, kind string) {
	i := strings.LastIndexByte(part, '.')
	if i <= 0 {
		return part, ""
	}
	switch kind = part[i+1:]; kind {
	case "service", "scope", "slice", "socket", "mount", "swap":
		return part[:i], kind
	}
	return part, ""
}

// Unescape undoes the escapes of systemd: \x2d is a minus.
func Unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= 4 && s[0] == '\\' && s[1] == 'x' {
			if hi, lo := digit(s[2]), digit(s[3]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// appOf returns the identifier of the app that a unit was made for, or "". Desktops call such
// units app[-LAUNCHER]-ID-RANDOM.scope, app[-LAUNCHER]-ID[@RANDOM].service and app-ID.slice, with
// the minus signs of the parts escaped; snap and D-Bus have forms of their own.
func appOf(name, kind string) string {
	if snap, ok := strings.CutPrefix(name, "snap."); ok && kind == "scope" {
		snap, _, _ = strings.Cut(snap, ".") // SNAP.APP-UUID
		return snap
	}
	id, ok := strings.CutPrefix(name, "app-")
	if bus, found := strings.CutPrefix(Unescape(cmp.Or(id, name)), "dbus-:"); found {
		_, id, _ = strings.Cut(bus, "-") // after the number of the connection
		return withoutInstance(id)
	}
	if !ok {
		return ""
	}
	switch kind {
	case "scope":
		id = id[:max(0, strings.LastIndexByte(id, '-'))]
	case "service":
		id = withoutInstance(id)
	}
	return Unescape(afterLast(id, '-')) // what is before it is the launcher
}

func withoutInstance(name string) string {
	if i := strings.IndexByte(name, '@'); i >= 0 {
		return name[:i]
	}
	return name
}

// AppName returns the name by which people know the app with an identifier: its last part, as in
// org.gnome.Nautilus.
func AppName(id string) string {
	if id = strings.TrimSuffix(id, ".desktop"); strings.Count(id, ".") < 2 {
		return id
	}
	last := afterLast(id, '.')
	if last == "" || allDigits(last) {
		return id
	}
	return last
}

func afterLast(s string, c byte) string { return s[strings.LastIndexByte(s, c)+1:] }

// shortNumber is how much of the number of a container people use.
const shortNumber = 12

// shorten cuts the number of a container, at either end of the name of a unit.
func shorten(unit string) string {
	name, kind := splitUnit(unit)
	switch n := len(name) - 64; {
	case n > 0 && hex64(name[n:]):
		name = name[:n+shortNumber]
	case n > 0 && hex64(name[:64]):
		name = name[:shortNumber] + name[64:]
	}
	return name + "." + kind
}

func hex64(s string) bool { return len(s) == 64 && hex(s) }

func hex(s string) bool {
	for i := range len(s) {
		if digit(s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
