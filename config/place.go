package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tachograph/config/trust"
)

// checkPlace refuses a configuration that another user could have written: always if it is
// world-writable, and if it names a command to run, also if it belongs to another user. A
// stricter rule was applied when root opened its file.
func checkPlace(path string, info fs.FileInfo, commands []command) error {
	if info.Mode().Perm()&0o002 != 0 {
		return &Error{File: path, Msg: "everybody may write this file: chmod o-w it"}
	}
	if err := checkParent(path); err != nil {
		return &Error{File: path, Msg: err.Error()}
	}
	if len(commands) == 0 {
		return nil
	}
	mistake := *commands[0].mistake
	if uid := owner(info); uid != 0 && uid != os.Geteuid() {
		mistake.Msg = fmt.Sprintf("names a command, but the file belongs to user %d: it must belong to root or to the user who runs the recorder", uid)
		return &mistake
	}
	if info.Mode().Perm()&0o020 != 0 {
		mistake.Msg = "names a command, but a group may write the file: chmod g-w it"
		return &mistake
	}
	return nil
}

// checkParent refuses a directory in which every user can replace a file. With the sticky bit
// only owners can.
func checkParent(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("everybody may write its directory %s: chmod o-w it", dir)
	}
	return nil
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// command is a command in a configuration, with its place for error messages.
type command struct {
	words   []string
	mistake *Error
}

// commands returns the commands in c.
func (c *Config) commands() (all []command) {
	if len(c.Archive.OnFinish) > 0 {
		all = append(all, command{c.Archive.OnFinish, c.mistake("archive.on_finish", "")})
	}
	for i := range c.Triggers {
		if t := &c.Triggers[i]; len(t.Run) > 0 {
			all = append(all, command{t.Run, c.TriggerMistake(t, "")})
		}
	}
	return all
}

// checkCommands refuses a command of root's if another user could replace it, or a file that
// its arguments name. A command that does not exist yet fails when it is run, and is checked
// again then.
func checkCommands(all []command) error {
	for _, c := range all {
		if _, err := trust.Running(os.Geteuid()).Command(c.words); err != nil {
			mistake := *c.mistake
			mistake.Msg = "names a command that root must not run: " + err.Error()
			return &mistake
		}
	}
	return nil
}

// CheckDir reports why archives cannot be kept in dir. It returns nil if they can, or if dir is
// absent but can be made.
func CheckDir(dir string) error {
	if err := CheckOwnDir(dir); err != nil {
		return err
	}
	if _, err := trust.Running(os.Geteuid()).Resolve(dir); err != nil {
		return fmt.Errorf("root keeps no archives in %s: %w, or choose another directory", dir, err)
	}
	return nil
}

// CheckOwnDir is CheckDir without checking who may write the directories above dir.
func CheckOwnDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		if pinfo, perr := os.Stat(parent); perr == nil {
			if !pinfo.IsDir() {
				return fmt.Errorf("%s cannot be made: %s is not a directory", dir, parent)
			}
			if pinfo.Mode().Perm()&0o002 != 0 && pinfo.Mode()&fs.ModeSticky == 0 {
				return fmt.Errorf("%s would stand in %s, which everybody may write: chmod o-w it", dir, parent)
			}
			if writable(parent) != nil {
				return fmt.Errorf("%s cannot be made: no permission to write %s%s", dir, parent, elsewhere())
			}
			return nil
		}
		return CheckOwnDir(parent)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to reach %s%s", dir, elsewhere())
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("everybody may write %s: chmod o-w it, or choose another directory", dir)
	}
	if uid := owner(info); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: archives are kept only in a directory of root or of the user who runs the recorder", dir, uid)
	}
	if err := trust.Running(os.Geteuid()).Check(dir, info); err != nil {
		return err
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("no permission to write %s%s", dir, elsewhere())
	}
	return checkParent(dir)
}

// elsewhere says what to do if archives may not be written: root may write everywhere except on
// read-only media.
func elsewhere() string {
	if os.Geteuid() == 0 {
		return ": choose another directory (--archive DIR)"
	}
	return ": choose another directory (--archive DIR), or use sudo to record as root in " + systemArchiveDir
}

// CheckDir reports why archives cannot be kept in dir, with file, line and key if c sets it.
func (c *Config) CheckDir(dir string) error {
	err := CheckDir(dir)
	if err != nil && c.File != "" && c.lines["archive.dir"] > 0 && dir == c.Archive.Dir {
		return c.mistake("archive.dir", "cannot be used: "+err.Error())
	}
	return err
}
