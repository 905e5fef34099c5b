package said

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/software"
)

// change makes a fact of a change of software.
func change(source string, c software.Change) Fact {
	f := Fact{Kind: metric.EventSoftware, At: c.At}
	f.add("source", source)
	f.add("what", string(c.Verb))
	f.add("package", c.Package)
	f.add("was", c.Was)
	f.add("is", c.Is)
	f.add("by", c.By)
	f.Text = c.Package
	switch c.Verb {
	case software.Changed:
		f.Text += " " + c.Was + " → " + c.Is
	case software.Removed:
		f.Text += " " + c.Was + " was removed"
	case software.Installed:
		f.Text += " " + c.Is + " was installed"
	default:
		f.Text += " " + c.Is + " was " + string(c.Verb)
	}
	f.Text += " (" + source + ")"
	return f
}

// changedFile is a file that is read again only after a change.
type changedFile struct {
	path string
	size int64
	at   time.Time
}

// open opens the file if it has changed, or returns nil.
func (c *changedFile) open() (*os.File, error) {
	f, info, err := sample.OpenRegular(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() == c.size && info.ModTime().Equal(c.at) {
		f.Close()
		return nil, nil
	}
	c.size, c.at = info.Size(), info.ModTime()
	return f, nil
}

// installHistory reads what installers of macOS wrote down. A package that was installed before has
// its version of then.
type installHistory struct {
	file     changedFile
	read     int
	versions map[string]string // that were installed last
}

func newInstallHistory() *installHistory {
	return &installHistory{file: changedFile{path: "/Library/Receipts/InstallHistory.plist"}}
}

func (h *installHistory) look(_ metric.Stamp, since time.Time, found func(Fact)) error {
	f, err := h.file.open()
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	changes, err := software.InstallHistory(f)
	if err != nil {
		return err
	}
	if len(changes) < h.read {
		h.read = 0 // another file
	}
	h.versions = make(map[string]string)
	for i, c := range changes {
		c.Was = h.versions[c.Package]
		h.versions[c.Package] = c.Is
		switch {
		case c.Was == c.Is && c.Was != "":
			c.Verb = software.Reinstalled
		case c.Was != "":
			c.Verb = software.Changed
		}
		if i >= h.read && !c.At.Before(since) {
			found(change("install history", c))
		}
	}
	h.read = len(changes)
	return nil
}

func (*installHistory) close() {}

// apps notices apps that updated themselves, without an installer that writes it down: their
// processes run another version.
type apps struct {
	updates func() []software.Change
	history *installHistory
}

func (a *apps) look(_ metric.Stamp, _ time.Time, found func(Fact)) error {
	if a.updates == nil {
		return nil
	}
	for _, c := range a.updates() {
		if a.history.versions[c.Package] != c.Is {
			found(change("app bundle", c))
		}
	}
	return nil
}

func (*apps) close() {}
