package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tachograph/cmd/internal/cli"
)

// Edit is a file's present and new content; nil means no file.
type Edit struct {
	Path    string
	Was, Is []byte
	// Mode is the mode of a new file. An existing file keeps its mode and its owner.
	Mode fs.FileMode
}

func (e Edit) none() bool {
	return bytes.Equal(e.Was, e.Is) && (e.Was == nil) == (e.Is == nil)
}

// read returns the content of a file, nil if there is none.
func read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > most:
		return nil, fmt.Errorf("%s has more than %d bytes, which is no file of PCP's", path, most)
	case text == nil:
		text = []byte{}
	}
	return text, nil
}

// carryOut makes the edits in order. If one fails, it undoes those before it.
func (s *Site) carryOut(edits []Edit) error {
	for i, e := range edits {
		err := s.exchange(e.Path, e.Is, e.Mode)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s cannot be changed: %w", s.at(e.Path), cli.Cause(err))
		for _, done := range slices.Backward(edits[:i]) {
			if back := s.exchange(done.Path, done.Was, done.Mode); back != nil {
				err = fmt.Errorf("%w; and %s could not be given its old content: %v", err, s.at(done.Path), cli.Cause(back))
			}
		}
		return err
	}
	return nil
}

// exchange replaces a file's content, if that is safe. PCP's packages for macOS give the
// directory of templates to the user that its daemons run as: what is written there must stay
// below it, whatever links that user makes meanwhile.
func (s *Site) exchange(path string, content []byte, mode fs.FileMode) error {
	err := s.safe(path)
	if err == nil {
		return exchange(s.at(path), content, mode)
	}
	config := filepath.Join(s.Paths.Var, "config")
	name, below := strings.CutPrefix(path, config+"/")
	if !below || s.safe(s.Paths.Var) != nil {
		return err
	}
	held, err := os.OpenRoot(s.at(config))
	if err != nil {
		return err
	}
	defer held.Close()
	return exchangeIn(held, name, content, mode)
}

// exchangeIn does it below a directory, and follows no link out of it.
func exchangeIn(held *os.Root, name string, content []byte, mode fs.FileMode) error {
	if content == nil {
		err := held.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := held.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp := name + ".new"
	if err := held.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := held.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = held.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, held.Remove(tmp))
	}
	return nil
}

// exchange replaces a file's content as a whole, or removes the file. It follows links.
func exchange(path string, content []byte, mode fs.FileMode) error {
	if content == nil {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	uid, gid := -1, -1
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("it is not a file")
		}
		mode = info.Mode().Perm()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			uid, gid = int(st.Uid), int(st.Gid)
		}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err == nil && (uid >= 0 && uid != os.Geteuid() || gid >= 0 && gid != os.Getegid()) {
		err = tmp.Chown(uid, gid)
	}
	// Chmod after Chown, which may clear bits.
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// The locks of PCP's own scripts are files beside the files that they change.
const (
	lockFor  = 20 * time.Second
	lockStep = 100 * time.Millisecond
)

// lock keeps PCP's scripts, and other installers, from changing the name space.
func (s *Site) lock() (unlock func(), err error) {
	path := s.at(s.Paths.Names()) + ".lock"
	for end := time.Now().Add(lockFor); ; {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			f.Close()
			// Signals that would end the change half-way wait until it is complete.
			late := make(chan os.Signal, 1)
			signal.Notify(late, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return func() {
				os.Remove(path)
				signal.Stop(late)
				select {
				case sig := <-late:
					syscall.Kill(os.Getpid(), sig.(syscall.Signal))
				default:
				}
			}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the name space cannot be locked: %w", err)
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%s is there since more than %v: another installation works on the name space, or one died; if none does, remove it", path, lockFor)
		}
		time.Sleep(lockStep)
	}
}
