package proc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/software"
)

// Why the identifier, the version or the team of an app is not known.
var (
	guardedFolder = metric.ReasonFor("macOS guards the folder that the app lies in")
	noInfo        = metric.ReasonFor("the app has no Info.plist")
	badInfo       = metric.ReasonFor("the app's Info.plist does not say it")
	noBundle      = metric.ReasonFor("the program is in no bundle")
	appleSigned   = metric.ReasonFor("signed by Apple as a part of macOS")
	noTeam        = metric.ReasonFor("signed by no team")
	badSignature  = metric.ReasonFor("the signature is not valid")
	beyondText    = metric.ReasonFor("longer than what the recorder keeps")
)

// known is a text, or why it is not known.
type known struct {
	text string
	why  metric.Reason
}

func (k known) put(o *owner.Owner, f owner.Field) {
	if o.Miss(f, k.why); k.why == metric.Present {
		o.Put(f, k.text)
	}
}

// macApp keeps what the files of an app said when its first process was met. An update replaces
// these files while the app runs, and the processes still run the old version.
type macApp struct {
	path                  string
	name                  string
	bundle, version, team known
	info                  fs.FileInfo // of the Info.plist; nil if none could be read
	jobs                  owner.Jobs  // that it brings
	jobsRead              bool
}

// macApps are the apps of which processes have been met, by their paths.
type macApps struct {
	root string // the directory that holds Applications; "" on a Mac
	all  map[string]*macApp
}

// mostApps limits the memory for apps that nobody runs any more: some move to another path at
// each start.
const mostApps = 512

// appAt returns the app at a place, as it is now that p has begun.
func (m *macKernel) appAt(p *process[macProcess], place owner.Place) *macApp {
	a := &m.belong.apps
	old := a.all[place.App]
	guarded := a.guards(place.App, m.refused.privileged)
	if old != nil && (guarded || a.same(old, place)) {
		return old
	}
	if len(a.all) >= mostApps || a.all == nil {
		a.all = make(map[string]*macApp)
	}
	app := &macApp{path: place.App, name: place.Name(), team: m.team(p.pid)}
	a.all[place.App] = app
	app.bundle.why = guardedFolder
	if !guarded {
		app.bundle.why = a.readInfo(app, place)
	}
	if app.bundle.why != metric.Present {
		if app.version.why = app.bundle.why; app.version.text != "" {
			app.version.why = metric.Present
		}
		// The signature and launchd have the identifier as well.
		if _, id := owner.LabelOf(p.platform.job); id != "" && p.platform.byLaunchd() {
			app.bundle = known{text: id}
		} else if place.Main {
			if id := m.signingText(p.pid, libproc.SigningIdentity); id.why == metric.Present {
				app.bundle = id
			}
		}
	}
	if old != nil && old.version.text != app.version.text && old.version.text != "" && app.version.text != "" && len(m.belong.updates) < mostApps {
		m.belong.updates = append(m.belong.updates, software.Update(time.UnixMicro(p.platform.micros), app.name, old.version.text, app.version.text))
	}
	return app
}

// takeUpdates returns the updates of apps since it was last called.
func (m *macKernel) takeUpdates() []software.Change {
	all := m.belong.updates
	m.belong.updates = nil
	return all
}

// same reports whether the Info.plist of an app is the one that was read.
func (a *macApps) same(old *macApp, place owner.Place) bool {
	for _, name := range place.InfoFiles() {
		if info, err := os.Stat(a.root + name); err == nil {
			return old.info != nil && os.SameFile(old.info, info) && old.info.ModTime().Equal(info.ModTime())
		}
	}
	return old.info == nil
}

// guards reports whether the recorder should leave a path alone: a volume may belong to a server
// that does not answer, and macOS asks the user at the screen before it lets a program that is
// not root into some folders.
func (a *macApps) guards(path string, privileged bool) bool {
	if strings.HasPrefix(path, "/Volumes/") || strings.HasPrefix(path, "/Network/") {
		return true
	}
	rest, ok := strings.CutPrefix(path, "/Users/")
	if _, below, in := strings.Cut(rest, "/"); ok && in && !privileged {
		folder, _, _ := strings.Cut(below, "/")
		switch folder {
		case "Desktop", "Documents", "Downloads":
			return true
		}
		return strings.HasPrefix(below, "Library/Mobile Documents/") || strings.HasPrefix(below, "Library/CloudStorage/")
	}
	return false
}

// readInfo reads the Info.plist of an app, and returns why it does not have an identifier.
func (a *macApps) readInfo(app *macApp, place owner.Place) metric.Reason {
	for _, name := range place.InfoFiles() {
		text, info, err := readSmallFile(a.root + name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return infoReason(err)
		}
		app.info = info
		texts, err := owner.PropertyTexts(text, "CFBundleIdentifier", "CFBundleShortVersionString", "CFBundleVersion")
		if err != nil {
			return badInfo
		}
		app.version = known{why: badInfo}
		for _, key := range []string{"CFBundleShortVersionString", "CFBundleVersion"} {
			if v := strings.TrimSpace(texts[key]); v != "" {
				app.version = known{text: v}
				break
			}
		}
		if app.bundle.text = strings.TrimSpace(texts["CFBundleIdentifier"]); app.bundle.text == "" {
			return badInfo
		}
		return metric.Present
	}
	if _, err := os.Stat(a.root + place.App); errors.Is(err, fs.ErrNotExist) {
		return metric.Vanished // it was deleted while it ran
	}
	return noInfo
}

func infoReason(err error) metric.Reason {
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.EPERM):
		return guardedFolder
	case errors.As(err, &errno):
		return macReason(errno)
	}
	return badInfo
}

var errNoSmallFile = errors.New("not a file of a size to read")

// readSmallFile reads a property list. Anybody may have put anything in its place: the call does
// not wait for who writes to a pipe.
func readSmallFile(name string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > owner.LargestPropertyList {
		return nil, nil, errNoSmallFile
	}
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, err
	}
	return b[:n], info, nil
}

// macSignature is what the signature of a program says.
type macSignature struct{ bundle, team known }

// mostSignatures limits the memory for programs that nobody runs any more.
const mostSignatures = 1024

// signatureOf returns the signature of the program of p, which it asks for once.
func (m *macKernel) signatureOf(p *process[macProcess]) *macSignature {
	exe := p.platform.exe
	if s := m.belong.signatures[exe]; s != nil && exe != "" {
		return s
	}
	s := &macSignature{bundle: m.signingText(p.pid, libproc.SigningIdentity), team: m.team(p.pid)}
	if len(m.belong.signatures) >= mostSignatures {
		clear(m.belong.signatures)
	}
	m.belong.signatures[exe] = s
	return s
}

// jobInApp returns the label of the job that an app itself brings for the program of q.
func (m *macKernel) jobInApp(q *macProcess) string {
	if q.app == nil || !strings.HasPrefix(q.program(), q.app.path+"/") {
		return ""
	}
	a := &m.belong.apps
	if !q.app.jobsRead && !a.guards(q.app.path, m.refused.privileged) {
		q.app.jobsRead = true
		for _, folder := range []string{"LaunchAgents", "LaunchDaemons"} {
			for _, job := range jobsIn(a.root + q.app.path + "/Contents/Library/" + folder) {
				job.Program = path.Join(q.app.path, job.Program)
				q.app.jobs.Add(job)
			}
		}
	}
	return q.app.jobs.Label(q.program())
}

// team returns the team that signed the program of a process.
func (m *macKernel) team(pid int32) known {
	team := m.signingText(pid, libproc.SigningTeam)
	if team.why == noTeam {
		b := m.scratch(4)
		if m.calls.Signing(pid, libproc.SigningStatus, b) == 0 && libproc.SigningFlags(b)&libproc.SignedByApple != 0 {
			team.why = appleSigned
		}
	}
	return team
}

// signingText asks for a text in the signature of a process's program, which takes no privilege
// and no file.
func (m *macKernel) signingText(pid int32, op uint32) known {
	b := m.scratch(libproc.SigningTextSize)[:libproc.SigningTextSize]
	switch errno := m.calls.Signing(pid, op, b); errno {
	case 0:
		if text := libproc.SigningText(b); text != "" {
			return known{text: text}
		}
		return known{why: noTeam}
	case syscall.ENOENT:
		return known{why: noTeam}
	case syscall.EINVAL:
		return known{why: badSignature}
	case syscall.ERANGE:
		return known{why: beyondText}
	default:
		return known{why: macReason(errno)}
	}
}
