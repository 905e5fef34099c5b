package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Owners are the users who are trusted.
type Owners struct {
	uids []int
	// admins trusts the group of users who may become root at any time, where the system has
	// one.
	admins bool
	// anybody trusts all users.
	anybody bool
}

// Root is the rule for what root obeys: only root is trusted.
func Root() Owners { return Owners{uids: []int{0}} }

// Running is the rule for a program that runs as the user euid: root obeys only root. Other
// users have less to lose, and may trust anybody; but what is opened must still be a file.
func Running(euid int) Owners {
	if euid == 0 {
		return Root()
	}
	return Owners{anybody: true}
}

// RootAndAsker is the rule for what root copies or removes for the user uid, who became root to
// request it.
func RootAndAsker(uid int) Owners {
	o := Owners{uids: []int{0}, admins: true}
	if uid > 0 {
		o.uids = append(o.uids, uid)
	}
	return o
}

// maxLinks is the most symbolic links on one path, as in kernels.
const maxLinks = 40

// Resolve follows the symbolic links of path and checks every directory and link on the way,
// and the file at its end. A file that does not exist yet is trusted if its directories are;
// the error is nil then.
func (o Owners) Resolve(path string) (resolved string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at := "/"
	if err := o.checkPath(at); err != nil {
		return "", err
	}
	parts := split(abs)
	for links := 0; len(parts) > 0; {
		name := parts[0]
		parts = parts[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(append([]string{next}, parts...)...), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s: too many symbolic links", path)
			}
			if err := o.checkOwner(next, info); err != nil {
				return "", err
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			parts = append(split(target), parts...)
			continue
		}
		if err := o.Check(next, info); err != nil {
			return "", err
		}
		at = next
	}
	return at, nil
}

func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}

func (o Owners) checkPath(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return o.Check(path, info)
}

// Check applies the rule to one file or directory, whatever is above it.
func (o Owners) Check(path string, info fs.FileInfo) error {
	if o.anybody {
		return nil
	}
	if err := o.checkOwner(path, info); err != nil {
		return err
	}
	perm := info.Mode().Perm()
	switch {
	case info.IsDir() && info.Mode()&fs.ModeSticky != 0:
		return nil
	case perm&0o002 != 0:
		return &Error{Path: path, Why: "everybody may write it", Remedy: "chmod o-w " + quote(path)}
	case perm&0o020 != 0 && !o.group(gid(info)):
		return &Error{Path: path, Why: fmt.Sprintf("group %s may write it", groupName(gid(info))), Remedy: "chmod g-w " + quote(path)}
	}
	return o.checkList(path, info)
}

func (o Owners) checkOwner(path string, info fs.FileInfo) error {
	if uid := uid(info); !o.anybody && !o.user(uid) {
		return &Error{Path: path, Why: "it belongs to " + userName(uid), Remedy: "chown root " + quote(path)}
	}
	return nil
}

// user reports whether a user is one of the owners.
func (o Owners) user(uid int) bool { return slices.Contains(o.uids, uid) }

// group reports whether all members of a group are trusted.
func (o Owners) group(gid int) bool {
	return o.admins && gid == adminGroup || onlyMembers(gid, o.uids)
}

// Error says what another user could replace, and how to prevent that.
type Error struct {
	Path, Why, Remedy string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s cannot be trusted: %s, so that somebody else could put anything there (%s)", e.Path, e.Why, e.Remedy)
}

// Open opens the file at path for reading: it follows links, checks that the path is trusted
// and that it is a file, and returns the resolved path.
func (o Owners) Open(path string) (f *os.File, resolved string, err error) {
	if resolved, err = o.Resolve(path); err != nil {
		return nil, "", err
	}
	f, err = o.open(resolved, os.O_RDONLY, 0)
	return f, resolved, err
}

// Append opens a file for appending, and makes it if it is missing. It does not follow a
// symbolic link at the end of the path, and refuses a file that has other names as well: it
// might be another user's.
func (o Owners) Append(path string, perm fs.FileMode) (*os.File, error) {
	dir, err := o.Resolve(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	path = filepath.Join(dir, filepath.Base(path))
	f, err := o.open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !o.anybody && links(info) != 1 {
		err = fmt.Errorf("%s has %d names (hard links): move it away", path, links(info))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open opens a file that is no link, without blocking, and checks the open file.
func (o Owners) open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, perm)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a file", path)
	default:
		err = o.Check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func quote(path string) string {
	if strings.ContainsAny(path, " '\"$\\") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
