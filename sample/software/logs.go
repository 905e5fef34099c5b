package software

import (
	"strings"
	"time"
)

// dpkg reads /var/log/dpkg.log: "2025-06-24 14:36:25 upgrade NAME:ARCH OLD NEW".
type dpkg struct{ zone func() *time.Location }

func (d dpkg) line(text string) (c Change, ok bool) {
	f := strings.Fields(text)
	if len(f) != 6 {
		return c, false
	}
	switch f[2] {
	case "install", "upgrade", "remove":
	default:
		return c, false // states on the way, and settings left behind
	}
	at, err := time.ParseInLocation(time.DateTime, f[0]+" "+f[1], d.zone())
	if err != nil {
		return c, false
	}
	name, _, _ := strings.Cut(f[3], ":")
	version := func(s string) string {
		if s == "<none>" {
			return ""
		}
		return word(s)
	}
	c = Change{At: at, Package: word(name), Was: version(f[4]), Is: version(f[5])}
	if f[2] == "remove" {
		c.Is = ""
	}
	c.Verb = verbOf(c.Was, c.Is)
	return c, c.Was != "" || c.Is != ""
}

// pacman reads /var/log/pacman.log: "[2026-01-02T03:04:05+0000] [ALPM] upgraded NAME (OLD -> NEW)".
type pacman struct{ zone func() *time.Location }

func (p pacman) line(text string) (c Change, ok bool) {
	stamp, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "] ")
	if !ok {
		return c, false
	}
	rest, ok = strings.CutPrefix(rest, "[ALPM] ")
	if !ok {
		return c, false
	}
	at, err := time.Parse("2006-01-02T15:04:05-0700", stamp)
	if err != nil {
		if at, err = time.ParseInLocation("2006-01-02 15:04", stamp, p.zone()); err != nil {
			return c, false
		}
	}
	verb, rest, _ := strings.Cut(rest, " ")
	name, versions, ok := strings.Cut(rest, " (")
	versions, closed := strings.CutSuffix(strings.TrimSpace(versions), ")")
	if !ok || !closed {
		return c, false
	}
	c = Change{At: at, Package: word(name)}
	switch verb {
	case "installed":
		c.Is = word(versions)
	case "removed":
		c.Was = word(versions)
	case "reinstalled":
		c.Was, c.Is = word(versions), word(versions)
	case "upgraded", "downgraded":
		was, is, ok := strings.Cut(versions, " -> ")
		if !ok {
			return c, false
		}
		c.Was, c.Is = word(was), word(is)
	default:
		return c, false
	}
	c.Verb = verbOf(c.Was, c.Is)
	return c, true
}

// zypper reads /var/log/zypp/history: "2026-01-02 03:04:05|install|NAME|VERSION|ARCH|...". It does
// not say what was there before.
type zypper struct{ zone func() *time.Location }

func (z zypper) line(text string) (c Change, ok bool) {
	f := strings.Split(text, "|")
	if strings.HasPrefix(text, "#") || len(f) < 5 {
		return c, false
	}
	at, err := time.ParseInLocation(time.DateTime, f[0], z.zone())
	if err != nil {
		return c, false
	}
	c = Change{At: at, Package: word(f[2])}
	switch strings.TrimSpace(f[1]) {
	case "install":
		c.Is, c.Verb = word(f[3]), Installed
	case "remove":
		c.Was, c.Verb = word(f[3]), Removed
	default:
		return c, false
	}
	return c, true
}

// dnf reads /var/log/dnf.rpm.log: "2026-01-02T03:04:05+0000 SUBDEBUG Upgrade: NAME-VERSION.ARCH".
// A line about the old version follows that about the new one, with other packages between.
type dnf struct {
	coming map[string]Change // by package
}

// mostComing bounds the changes whose second line has not been read.
const mostComing = 4096

func (d *dnf) line(text string) (c Change, ok bool) {
	stamp, rest, ok := strings.Cut(text, " ")
	if !ok {
		return c, false
	}
	at, err := time.Parse("2006-01-02T15:04:05-0700", stamp)
	if err != nil {
		if at, err = time.Parse(time.RFC3339, stamp); err != nil {
			return c, false
		}
	}
	_, rest, _ = strings.Cut(rest, " ") // the level
	verb, rest, ok := strings.Cut(rest, ": ")
	if !ok {
		return c, false
	}
	name, version := nevra(strings.TrimSpace(rest))
	if name == "" {
		return c, false
	}
	c = Change{At: at, Package: name}
	switch verb {
	case "Installed":
		c.Is, c.Verb = version, Installed
	case "Erase", "Erased", "Removed", "Obsoleted":
		c.Was, c.Verb = version, Removed
	case "Reinstall", "Reinstalled":
		if verb == "Reinstalled" {
			return c, false
		}
		c.Was, c.Is, c.Verb = version, version, Reinstalled
	case "Upgrade", "Downgrade":
		if d.coming == nil || len(d.coming) >= mostComing {
			d.coming = make(map[string]Change)
		}
		c.Is = version
		d.coming[name] = c
		return c, false
	case "Upgraded", "Downgraded":
		is, known := d.coming[name]
		if !known {
			return c, false
		}
		delete(d.coming, name)
		c.At, c.Was, c.Is, c.Verb = is.At, version, is.Is, Changed
	default:
		return c, false
	}
	return c, true
}

// nevra takes NAME-EPOCH:VERSION-RELEASE.ARCH apart; the epoch may be absent.
func nevra(s string) (name, version string) {
	if i := strings.LastIndexByte(s, '.'); i > 0 {
		s = s[:i]
	}
	release := strings.LastIndexByte(s, '-')
	if release <= 0 {
		return "", ""
	}
	at := strings.LastIndexByte(s[:release], '-')
	if at <= 0 {
		return "", ""
	}
	return word(s[:at]), word(strings.TrimPrefix(s[at+1:], "0:"))
}
