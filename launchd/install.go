package launchd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Installer installs the service and removes it.
type Installer struct {
	Layout  Layout
	Manager Manager
	// Root is put before every path. With Stage, only files are put there and nothing else is
	// touched: for those who make packages.
	Root  string
	Stage bool
	// From is the directory that holds the binaries to install.
	From string
	// Config is the text of a new configuration.
	Config string
	// Manuals are the manual pages, by the names of their files.
	Manuals map[string]string
	// Group may read the archives.
	Group string
	// Serve installs the server as well; nil leaves it unchanged, and Unserve removes it.
	Serve   *Serve
	Unserve bool
	// Push installs the push as well; nil leaves it unchanged, and Unpush removes it.
	Push   *Push
	Unpush bool
	// EUID is the user whom the installer runs as, and Asker, if not 0, the user who became
	// root for it.
	EUID, Asker int
	// Say prints a line about what was done.
	Say func(format string, args ...any)
	// Recording waits until a recorder that was started after the given time has recorded its
	// first tick, or returns why it has not.
	Recording func(since time.Time) error
}

func (in *Installer) place() fileRoot {
	return fileRoot{root: in.Root, own: in.EUID == 0, stage: in.Stage, asker: in.Asker}
}

// dirs returns the directories of an installation.
func (in *Installer) dirs() []Dir {
	l := in.Layout
	dirs := []Dir{
		{Path: l.Binaries, Mode: 0o755},
		{Path: filepath.Dir(l.Config), Mode: 0o755},
		{Path: l.Archives, Mode: 0o750, Group: in.Group},
	}
	if l.Log != "" {
		dirs = append(dirs, Dir{Path: filepath.Dir(l.Log), Mode: 0o755})
	}
	for _, path := range []string{filepath.Dir(l.Job), l.Links} {
		if path != "" {
			dirs = append(dirs, Dir{Path: path, Shared: true})
		}
	}
	return append(dirs, in.pushDirs()...)
}

// files returns the files of an installation except the programs. The job comes last: once it
// is in place, all that it needs is there too.
func (in *Installer) files() []File {
	l := in.Layout
	var files []File
	for _, path := range in.manuals() {
		files = append(files, File{Path: path, Mode: 0o644, Content: []byte(in.Manuals[filepath.Base(path)])})
	}
	files = append(files, File{Path: l.Config, Mode: 0o644, Content: []byte(in.Config), Keep: true})
	if l.Log != "" {
		files = append(files, File{Path: l.Log, Mode: 0o640, Content: []byte{}, Keep: true})
	}
	return append(files, in.Manager.Files(l)...)
}

// beside returns the files of the services that are installed with the recorder.
func (in *Installer) beside() ([]File, error) {
	var services []Service
	if in.Serve != nil {
		services = append(services, *in.Serve)
	}
	if in.Push != nil {
		services = append(services, *in.Push)
	}
	var files []File
	for _, s := range services {
		more, err := in.Manager.Describe(in.Layout, s)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// manuals returns the paths of the manual pages: man1/recorder.1.
func (in *Installer) manuals() []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(in.Manuals)) {
		section := "man" + strings.TrimPrefix(filepath.Ext(name), ".")
		paths = append(paths, filepath.Join(in.Layout.Manuals, section, name))
	}
	return paths
}

// Install puts everything in place and starts the service. If it is run again, it upgrades the
// installation, and repairs what a failed attempt left.
func (in *Installer) Install() error {
	if !in.Stage && in.EUID != 0 {
		return fmt.Errorf("a service can be installed only by root: run `sudo recorder install`")
	}
	p := in.place()
	programs, err := in.programs()
	if err != nil {
		return err
	}
	if in.Serve != nil && len(programs) < 2 {
		return fmt.Errorf("there is no replay in %s, which is what serves: put it beside the recorder", in.From)
	}
	if in.Push != nil && len(programs) < 2 {
		return fmt.Errorf("there is no replay in %s, which is what pushes: put it beside the recorder", in.From)
	}
	beside, err := in.beside()
	if err != nil {
		return err
	}
	for _, d := range in.dirs() {
		if err := p.mkdir(d); err != nil {
			return err
		}
	}
	for _, f := range slices.Concat(programs, in.files(), beside) {
		changed, err := p.write(f)
		if err != nil {
			return err
		}
		in.tell(p, f, changed)
	}
	if err := in.link(p); err != nil {
		return err
	}
	if in.Stage {
		return nil
	}
	since := time.Now()
	if err := in.Manager.Load(in.Layout); err != nil {
		return err
	}
	if in.Recording != nil {
		if err := in.Recording(since); err != nil {
			return err
		}
	}
	for k, away := range []bool{Server: in.Unserve, Pusher: in.Unpush, Agent: false} {
		if err := in.settle(p, Kind(k), away); err != nil {
			return err
		}
	}
	in.summary()
	return nil
}

// settle makes the machine's manager load a service beside the recorder's, or removes it. A
// service that was installed before continues with the current program. The progress of a push
// stays, so that the push continues there when it is installed again.
func (in *Installer) settle(p fileRoot, k Kind, away bool) error {
	job := in.Manager.Job(in.Layout, k)
	file, _ := in.Layout.job(k)
	switch {
	case away:
		if err := job.Unload(); err != nil {
			return err
		}
		return errors.Join(append(in.remove(p, job.Paths()...), in.Manager.Forget())...)
	case fileExists(p.at(file)):
		return job.Load()
	}
	return nil
}

func (in *Installer) tell(p fileRoot, f File, changed bool) {
	switch {
	case changed:
		in.Say("wrote %s", p.at(f.Path))
	case f.Keep:
		in.Say("kept %s", p.at(f.Path))
	default:
		in.Say("%s is up to date", p.at(f.Path))
	}
}

// link makes the binaries known to shells, on systems that have no list of directories for
// that.
func (in *Installer) link(p fileRoot) error {
	if in.Layout.Links == "" {
		return nil
	}
	if err := p.safe(in.Layout.Links); err != nil {
		return err
	}
	for _, target := range []string{in.Layout.Recorder(), in.Layout.Replay()} {
		if !fileExists(p.at(target)) {
			continue
		}
		link := p.at(filepath.Join(in.Layout.Links, filepath.Base(target)))
		if have, err := os.Readlink(link); err == nil && have == target {
			continue
		}
		if _, err := os.Lstat(link); err == nil {
			in.Say("left %s as it is: it is not ours", link)
			continue
		}
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("%s cannot be made: %w", link, cause(err))
		}
		in.Say("linked %s", link)
	}
	return nil
}

func (in *Installer) summary() {
	l := in.Layout
	in.Say("")
	in.Say("The recorder is running and has recorded its first values.")
	in.Say("  archives        %s", l.Archives)
	in.Say("  configuration   %s", l.Config)
	if l.Log != "" {
		in.Say("  log             %s", l.Log)
	} else {
		in.Say("  log             journalctl -u %s", strings.TrimSuffix(Unit, ".service"))
	}
	in.Say("  programs        %s", l.Binaries)
	in.Say("  service         %s", l.Job)
	if in.Serve != nil {
		in.Say("  server          %s, for root and the group %s", l.ServeSocket, in.Serve.SocketGroup)
	}
	if in.Push != nil {
		in.Say("  push            %s", in.Push.URL)
	}
	in.Say("See how it is doing: %s status", l.Recorder())
}

// Print shows what Install would do.
func (in *Installer) Print() (string, error) {
	var b strings.Builder
	if in.Group != "" && !in.Stage { // A package may be made on a machine without the group.
		if _, err := groupID(in.Group); err != nil {
			return "", err
		}
	}
	beside, err := in.beside()
	if err != nil {
		return "", err
	}
	p := in.place()
	for _, d := range in.dirs() {
		if !d.Shared {
			group := in.rootGroup()
			if d.Group != "" {
				group = d.Group
			}
			fmt.Fprintf(&b, "# directory %s (root:%s %04o)\n", p.at(d.Path), group, d.Mode)
		}
	}
	programs := []File{{Path: in.Layout.Recorder(), Mode: 0o755}}
	if fileExists(filepath.Join(in.From, "replay")) {
		programs = append(programs, File{Path: in.Layout.Replay(), Mode: 0o755})
	}
	for _, f := range slices.Concat(programs, in.files(), beside) {
		fmt.Fprintf(&b, "# file %s (root:%s %04o)\n", p.at(f.Path), cmp.Or(f.Group, in.rootGroup()), f.Mode)
	}
	for _, f := range append(in.Manager.Files(in.Layout), beside...) {
		if len(f.Content) > 0 {
			fmt.Fprintf(&b, "\n# %s\n%s", p.at(f.Path), f.Content)
		}
	}
	if !in.Stage {
		b.WriteString("\n# commands\n")
		commands := in.Manager.Commands(in.Layout)
		if in.Serve != nil {
			commands = append(commands, in.Manager.Job(in.Layout, Server).Commands()...)
		}
		if in.Push != nil {
			commands = append(commands, in.Manager.Job(in.Layout, Pusher).Commands()...)
		}
		for _, c := range commands {
			b.WriteString(c + "\n")
		}
	}
	return b.String(), nil
}

func (in *Installer) rootGroup() string {
	if in.Layout.Log != "" {
		return "wheel"
	}
	return "root"
}

// Uninstall stops the service and removes what install made. The archives, and
// a configuration that was edited, stay unless purge is set.
func (in *Installer) Uninstall(purge bool) error {
	if !in.Stage && in.EUID != 0 {
		return fmt.Errorf("a service can be removed only by root: run `sudo recorder uninstall`")
	}
	if _, err := os.Stat(in.Root); in.Stage && err != nil {
		return fmt.Errorf("nothing is installed under %s: %w", in.Root, cause(err))
	}
	l := in.Layout
	server, pusher := in.Manager.Job(l, Server), in.Manager.Job(l, Pusher)
	if !in.Stage {
		if err := errors.Join(server.Unload(), pusher.Unload()); err != nil {
			return err
		}
		if err := in.Manager.Unload(); err != nil {
			return err
		}
	}
	p := in.place()
	var errs []error
	remove := func(paths ...string) { errs = append(errs, in.remove(p, paths...)...) }
	remove(server.Paths()...)
	remove(pusher.Paths()...)
	for _, f := range in.Manager.Files(l) {
		remove(f.Path)
	}
	for _, target := range []string{l.Recorder(), l.Replay()} {
		if have, err := os.Readlink(p.at(filepath.Join(l.Links, filepath.Base(target)))); err == nil && l.Links != "" && have == target {
			remove(filepath.Join(l.Links, filepath.Base(target)))
		}
		remove(target)
	}
	for _, path := range in.manuals() {
		remove(path)
		in.removeEmpty(p, filepath.Dir(path))
	}
	if l.Log != "" {
		if err := p.safe(filepath.Dir(l.Log)); err != nil {
			errs = append(errs, fmt.Errorf("%s is not removed: %w", p.at(l.Log), err))
		} else {
			in.removeLogs(p, &errs)
		}
	}
	if purge || sameContent(p.at(l.Config), []byte(in.Config)) {
		remove(l.Config)
	}
	if purge {
		errs = append(errs, in.purgeArchives(p), in.purgePush(p))
	}
	in.removeEmpty(p, l.Manuals, filepath.Dir(l.Manuals), l.Archives, l.PushState, l.Binaries, filepath.Dir(l.Binaries), filepath.Dir(l.Config))
	for _, path := range []string{l.Config, l.Archives} {
		if fileExists(p.at(path)) {
			in.Say("kept %s", p.at(path))
		}
	}
	if !in.Stage {
		errs = append(errs, in.Manager.Forget())
	}
	return errors.Join(errs...)
}

// remove removes files, and reports those that existed.
func (in *Installer) remove(p fileRoot, paths ...string) (errs []error) {
	for _, path := range paths {
		if err := p.safe(filepath.Dir(path)); err != nil {
			errs = append(errs, fmt.Errorf("%s is not removed: %w", p.at(path), err))
			continue
		}
		gone, err := removeIfPresent(p.at(path))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s cannot be removed: %w", p.at(path), cause(err)))
		}
		if gone {
			in.Say("removed %s", p.at(path))
		}
	}
	return errs
}

// purgeArchives removes the archives and their directory. It follows no links.
func (in *Installer) purgeArchives(p fileRoot) error {
	path := p.at(in.Layout.Archives)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link: what it leads to is not removed, nor is it", path)
	}
	if err == nil {
		err = p.safe(filepath.Dir(in.Layout.Archives))
	}
	if err == nil {
		err = os.RemoveAll(path)
	}
	if err != nil {
		return fmt.Errorf("%s is not removed: %w", path, err)
	}
	in.Say("removed %s and all archives in it", path)
	return nil
}

// removeLogs removes the log and the old logs that newsyslog kept.
func (in *Installer) removeLogs(p fileRoot, errs *[]error) {
	logs, _ := filepath.Glob(p.at(in.Layout.Log) + "*")
	for _, path := range logs {
		if err := os.Remove(path); err != nil {
			*errs = append(*errs, err)
		}
	}
	in.removeEmpty(p, filepath.Dir(in.Layout.Log))
}

// removeEmpty removes those of our directories that are empty.
func (in *Installer) removeEmpty(p fileRoot, dirs ...string) {
	for _, d := range dirs {
		if d == "/Library" || d == "/usr/local/lib" || d == "/etc" || strings.HasPrefix(d, "/usr/local/share") {
			continue
		}
		if entries, err := os.ReadDir(p.at(d)); err == nil && len(entries) == 0 {
			if err := os.Remove(p.at(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				in.Say("left %s: %s", p.at(d), cause(err))
			}
		}
	}
}
