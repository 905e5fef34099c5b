package software

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample"
)

// RPM is the database of rpm below a root directory. Its programs change it with or without a
// manager that writes a log, so it is a list to compare; only rpm itself reads all its formats.
type RPM string

// dir returns the directory of the database, "" if there is none.
func (r RPM) dir() string {
	for _, dir := range []string{"usr/lib/sysimage/rpm", "var/lib/rpm"} {
		dir = filepath.Join(string(r), dir)
		for _, name := range databases {
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
	}
	return ""
}

// databases are the names of the database, by its format.
var databases = []string{"rpmdb.sqlite", "Packages.db", "Packages"}

// Files are the files that change with what is installed.
func (r RPM) Files() (list []string) {
	if dir := r.dir(); dir != "" {
		for _, name := range append([]string{"rpmdb.sqlite-wal"}, databases...) {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// Busy reports whether packages are being installed or removed just now: both the old and the new
// version of one may be in the database then.
func (r RPM) Busy() bool {
	f, _, err := sample.OpenRegular(filepath.Join(r.dir(), ".rpm.lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	return unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock) == nil && lock.Type == unix.F_WRLCK
}

const (
	rpmProgram = "/usr/bin/rpm"
	// rpmLine is what rpm prints of a package, for rpmList.
	rpmLine = `%{NAME}\t%{EVR}\t%{INSTALLTIME}\n`
	// rpmLimit is how long rpm may take: it took 0.3 s for 2000 packages.
	rpmLimit = 30 * time.Second
)

// List has rpm list what is installed, with the least priority.
func (r RPM) List(ctx context.Context) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, rpmLimit)
	defer cancel()
	// The header of a package is believed: to check all signatures takes twice as long.
	cmd := exec.CommandContext(ctx, rpmProgram, "--dbpath", r.dir(), "--nosignature", "--nodigest", "-qa", "--qf", rpmLine)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/"}
	cmd.WaitDelay = time.Second
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the list of rpm: there is a database in %s, but no %s", r.dir(), rpmProgram)
		}
		return nil, fmt.Errorf("the list of rpm: %w", err)
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, 19)
	list, err := rpmList(printed)
	if err != nil {
		cancel() // it may print more than is read
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the list of rpm: %s did not end within %s", rpmProgram, rpmLimit)
	case err != nil:
		return nil, fmt.Errorf("the list of rpm: %w", err)
	}
	return list, nil
}

// rpmList reads what rpm prints.
func rpmList(r io.Reader) (List, error) {
	list := make(List)
	size := 0
	err := eachLine(r, func(text string) {
		size += len(text) + 1
		f := strings.Split(text, "\t")
		if len(f) != 3 {
			return
		}
		v := Version{Text: word(strings.TrimPrefix(f[1], "0:"))}
		if at, err := strconv.ParseInt(f[2], 10, 64); err == nil && at > 0 {
			v.At = time.Unix(at, 0)
		}
		list.add(word(f[0]), v)
	})
	if err == nil && size >= largestList {
		err = fmt.Errorf("it is longer than %d MB", largestList>>20)
	}
	return list, err
}
