package linux

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// users counts login sessions, from utmp if the system keeps it, else from the files of the
// session manager.
type users struct {
	utmp     *file
	sessions string // directory of the session manager
	group    *metric.Group
}

// logins are the numbers of users, of root's logins and of sessions.
type logins struct{ users, roots, sessions uint64 }

func newUsers(root string) (*users, error) {
	u := &users{utmp: newFile(root + "/var/run/utmp"), sessions: root + "/run/systemd/sessions"}
	return u, u.Refresh()
}

func (u *users) Name() string            { return "users" }
func (u *users) Groups() []*metric.Group { return []*metric.Group{u.group} }
func (u *users) Close() error            { u.utmp.close(); return nil }

func (u *users) Refresh() error {
	u.group = catalog.Group(catalog.Linux, "users", "kernel.all.nusers", "kernel.all.nroots", "kernel.all.nsessions")
	if _, err := u.count(); err != nil {
		for _, d := range u.group.Metrics {
			d.Unsupported = "this system keeps neither /var/run/utmp nor /run/systemd/sessions"
		}
	}
	return nil
}

func (u *users) Read(c *sample.Context, frames []*sample.Frame) error {
	n, err := u.count()
	if err != nil {
		return err
	}
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		f.SetUint(row, 0, n.users)
		f.SetUint(row, 1, n.roots)
		f.SetUint(row, 2, n.sessions)
	}
	return nil
}

func (u *users) count() (logins, error) {
	data, err := u.utmp.read()
	if err == nil {
		return countUtmp(data, utmpSize(runtime.GOARCH)), nil
	}
	return countSessions(u.sessions)
}

// Offsets and values in a utmp record. Its length depends on utmpSize.
const (
	utmpUser    = 44
	utmpUserLen = 32
	userProcess = 7
)

// utmpSize is the length of a record: C libraries keep the 32-bit layout only
// on machines that once ran 32-bit programs.
func utmpSize(arch string) int {
	switch arch {
	case "arm64", "riscv64", "loong64":
		return 400
	}
	return 384
}

func countUtmp(data []byte, size int) (n logins) {
	for ; len(data) >= size; data = data[size:] {
		user := data[utmpUser : utmpUser+utmpUserLen]
		user, _, _ = bytes.Cut(user, zero)
		kind := binary.NativeEndian.Uint16(data)
		if kind == 0 {
			continue // a free slot
		}
		if kind == userProcess {
			if len(user) == 0 {
				continue
			}
			n.users++
			if string(user) == "root" {
				n.roots++
			}
		}
		n.sessions++
	}
	return n
}

var zero = []byte{0}

// countSessions reads the session manager's files, one per session, with lines NAME=value.
func countSessions(dir string) (n logins, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return n, err
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".") {
			continue // a pipe that keeps the session alive
		}
		data, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			continue // the session has just ended
		}
		class, uid := sessionClass(string(data))
		n.sessions++
		if class == "" || strings.HasPrefix(class, "user") {
			n.users++
			if uid == "0" {
				n.roots++
			}
		}
	}
	return n, nil
}

func sessionClass(text string) (class, uid string) {
	for l := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		switch name {
		case "CLASS":
			class = value
		case "UID":
			uid = value
		}
	}
	return class, uid
}
