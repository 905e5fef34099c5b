package software

import (
	"strings"
	"time"
)

// dnf5 reads /var/log/dnf5.log: "2026-01-02T03:04:05+0000 [PID] INFO RPM callback install stop
// "NAME-EPOCH:VERSION-RELEASE.ARCH" amount N total N", and "uninstall stop" for what is gone. Nothing
// says that a package was upgraded: the old version goes when all new ones have come. So what
// came is held until its old version has gone, or until nothing can follow.
type dnf5 struct {
	busy    func() bool // packages are being installed or removed
	process string      // that wrote the last line about a package
	fresh   bool        // that line was written after ended was called
	coming  []Change
	// gone are the packages whose old versions have gone: those of their other architectures say
	// the same.
	gone map[string]bool
}

// holder is a parser that holds changes which a later line may complete.
type holder interface {
	// ended reports whether all lines about what is held have been written. It is called before
	// the log is read on.
	ended() bool
	// settle passes what is held, but for what was read since ended was called.
	settle(found func(Change))
}

func (d *dnf5) ended() bool {
	d.fresh = false
	return len(d.coming) > 0 && !d.busy()
}

func (d *dnf5) settle(found func(Change)) {
	if !d.fresh {
		d.release(found)
	}
}

func (d *dnf5) release(found func(Change)) {
	for _, c := range d.coming {
		found(c)
	}
	d.coming, d.gone = nil, nil
}

func (d *dnf5) line(text string, found func(Change)) {
	stamp, rest, _ := strings.Cut(text, " [")
	process, rest, ok := strings.Cut(rest, "] INFO RPM callback ")
	if !ok {
		return
	}
	verb, rest, ok := strings.Cut(rest, " stop \"")
	full, _, closed := strings.Cut(rest, "\"")
	name, version := nevra(full)
	at, err := time.Parse("2006-01-02T15:04:05-0700", stamp)
	if !ok || !closed || name == "" || err != nil {
		return
	}
	if process != d.process || len(d.coming) >= mostComing {
		d.release(found)
		d.process = process
	}
	d.fresh = true
	switch verb {
	case "install":
		if i := d.held(name); i < 0 || d.coming[i].Is != version {
			d.coming = append(d.coming, Change{At: at, Package: name, Is: version, Verb: Installed})
		}
	case "uninstall":
		c := Change{At: at, Package: name}
		if i := d.held(name); i >= 0 {
			c = d.coming[i]
			d.coming = append(d.coming[:i], d.coming[i+1:]...)
		} else if d.gone[name] {
			return
		}
		if d.gone == nil {
			d.gone = make(map[string]bool)
		}
		d.gone[name] = true
		c.Was, c.Verb = version, verbOf(version, c.Is)
		found(c)
	}
}

// held returns the index of a package that came, -1 if there is none.
func (d *dnf5) held(name string) int {
	for i := range d.coming {
		if d.coming[i].Package == name {
			return i
		}
	}
	return -1
}
