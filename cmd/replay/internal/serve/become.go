package serve

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Become makes a root process another user, for good: the user called name or, if name is empty,
// nobody with the group of the first archive. A process that is not root stays as it is. The
// archives must be readable afterwards.
func Become(name string, archives []string) error {
	if os.Geteuid() != 0 {
		if name != "" {
			return errors.New("--user is for a server that root starts")
		}
		for _, path := range archives {
			if err := readable(path); err != nil {
				return fmt.Errorf("no permission to read %s: start the server as root or as a member of the group that may read the archives (archive.group in the recorder's configuration)", path)
			}
		}
		return nil
	}
	if name == "root" || name == "0" {
		return nil
	}
	who := name
	if who == "" {
		who = "nobody"
	}
	u, err := lookup(who)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s has the number %q", who, u.Uid)
	}
	groups, err := groupsFor(u, name == "", archives)
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("cannot take the groups of %s: %w", who, err)
	}
	if err := syscall.Setgid(groups[0]); err != nil {
		return fmt.Errorf("cannot take the group of %s: %w", who, err)
	}
	if err := syscall.Setuid(int(uid)); err != nil {
		return fmt.Errorf("cannot become %s: %w", who, err)
	}
	if uid != 0 && syscall.Setuid(0) == nil {
		return fmt.Errorf("became %s, and could become root again: the system does not let go of privileges", who)
	}
	for _, path := range archives {
		if err := readable(path); err != nil {
			return fmt.Errorf("%s may not read %s: let its group read it (archive.group in the recorder's configuration), name a user who may with --user, or stay root with --user root", who, path)
		}
	}
	return nil
}

// readable reports why an archive, or a directory of them, cannot be read.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = os.Stat(filepath.Join(path, ".")) // a directory must also be searchable
	if errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

func lookup(name string) (*user.User, error) {
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		if u, err := user.LookupId(name); err == nil {
			return u, nil
		}
		return nil, fmt.Errorf("there is no user with the number %s on this machine", name)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("there is no user %q on this machine: name one with --user", name)
	}
	return u, nil
}

// groupsFor returns the groups to take, the primary one first: those of the user or, if the user
// was not named, the group that may read the archives.
func groupsFor(u *user.User, anybody bool, archives []string) ([]int, error) {
	primary, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s has the group %q", u.Username, u.Gid)
	}
	groups := []int{int(primary)}
	if anybody {
		for _, path := range archives {
			if _, gid, ok := mayRead(path); ok && gid >= 0 {
				return []int{gid}, nil
			}
		}
		return groups, nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("cannot tell the groups of %s: %w", u.Username, err)
	}
	for _, id := range ids {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil && n != primary {
			groups = append(groups, int(n))
		}
	}
	return groups, nil
}
