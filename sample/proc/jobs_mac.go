package proc

import (
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// launchdFolders hold the property lists of launchd's jobs; a star is any user.
var launchdFolders = []string{
	"/System/Library/LaunchDaemons", "/System/Library/LaunchAgents",
	"/System/Cryptexes/App/System/Library/LaunchDaemons", "/System/Cryptexes/App/System/Library/LaunchAgents",
	"/Library/LaunchDaemons", "/Library/LaunchAgents", "/Users/*/Library/LaunchAgents",
}

const (
	jobsEvery = time.Minute // how often the folders are looked at
	// mostJobs limits how many files of a folder are read: users write some of these folders.
	mostJobs = 2000
)

// launchdJobs reads the jobs of launchd. There are about a thousand files: it reads them beside
// the sweeps, so that no sweep waits.
type launchdJobs struct {
	root    string // the directory that holds Library; "" on a Mac
	last    int64  // when the folders were looked at, in nanoseconds since boot; 0 is never
	known   atomic.Pointer[owner.Jobs]
	reading atomic.Bool
	// Only the reading goroutine uses the folders.
	folders map[string]jobFolder
}

// jobFolder is one folder, as it was read.
type jobFolder struct {
	changed time.Time
	jobs    []owner.Job
}

func newLaunchdJobs(root string) *launchdJobs {
	l := &launchdJobs{root: root, folders: make(map[string]jobFolder)}
	l.known.Store(new(owner.Jobs))
	return l
}

// look returns the jobs that have been read by now. It has them read anew if it is time to.
func (l *launchdJobs) look(now metric.Stamp) *owner.Jobs {
	if due := l.last == 0 || now.Cont-l.last >= int64(jobsEvery); due && l.reading.CompareAndSwap(false, true) {
		l.last = now.Cont
		go func() {
			defer l.reading.Store(false)
			if l.read() {
				l.known.Store(l.all())
			}
		}()
	}
	return l.known.Load()
}

// read reads the folders that have changed, and reports whether any has.
func (l *launchdJobs) read() (changed bool) {
	found := make(map[string]jobFolder)
	for _, pattern := range launchdFolders {
		for _, name := range l.matching(pattern) {
			info, err := os.Stat(name)
			if err != nil {
				continue
			}
			f, known := l.folders[name]
			if !known || !f.changed.Equal(info.ModTime()) {
				f, changed = jobFolder{info.ModTime(), jobsIn(name)}, true
			}
			found[name] = f
		}
	}
	changed = changed || len(found) != len(l.folders)
	l.folders = found
	return changed
}

func (l *launchdJobs) matching(pattern string) (names []string) {
	users, below, each := strings.Cut(pattern, "*")
	if !each {
		return []string{l.root + pattern}
	}
	list, _ := os.ReadDir(l.root + users)
	for _, e := range list {
		names = append(names, l.root+users+e.Name()+below)
	}
	return names
}

func (l *launchdJobs) all() *owner.Jobs {
	jobs := new(owner.Jobs)
	for _, f := range l.folders {
		for _, j := range f.jobs {
			jobs.Add(j)
		}
	}
	return jobs
}

// jobsIn reads the property lists in a folder. It leaves out what it cannot read.
func jobsIn(folder string) (jobs []owner.Job) {
	list, _ := os.ReadDir(folder)
	for _, e := range list[:min(len(list), mostJobs)] {
		if !strings.HasSuffix(e.Name(), ".plist") || e.Type()&(fs.ModeDir|fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0 {
			continue
		}
		text, _, err := readSmallFile(folder + "/" + e.Name())
		if err != nil {
			continue
		}
		if j, ok := owner.JobFrom(text); ok {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
