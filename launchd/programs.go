package launchd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tachograph/config/trust"
)

// programs returns the binaries to install, read from From. A program beside the recorder is
// copied only if it is ours, and if only root and the user who asked could have put it there.
func (in *Installer) programs() ([]File, error) {
	l := in.Layout
	recorder, err := in.program("recorder")
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s cannot be read: %w", filepath.Join(in.From, "recorder"), cause(err))
	}
	if err != nil {
		return nil, err
	}
	files := []File{{Path: l.Recorder(), Mode: 0o755, Content: recorder}}
	replay, err := in.program("replay")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.Say("there is no replay beside the recorder: only the recorder is installed")
	case err != nil:
		return nil, err
	default:
		files = append(files, File{Path: l.Replay(), Mode: 0o755, Content: replay})
	}
	return files, nil
}

// program reads one of our programs. It checks and reads the same open file, not the name
// twice.
func (in *Installer) program(name string) ([]byte, error) {
	path := filepath.Join(in.From, name)
	owners := trust.Running(in.EUID)
	if in.EUID == 0 {
		owners = trust.RootAndAsker(in.Asker)
	}
	f, resolved, err := owners.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o100 == 0 {
		return nil, fmt.Errorf("%s is not installed: it is not a program", resolved)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", resolved, cause(err))
	case len(content) > maxFile || !bytes.Contains(content, programMark(name)):
		return nil, fmt.Errorf("%s is not installed: it is not Tachograph's %s; move it away, or put the two programs in a directory of their own", resolved, name)
	}
	if from, err := filepath.Abs(path); err == nil && from != resolved {
		in.Say("%s is a link: %s is installed", path, resolved)
	}
	return content, nil
}

// programMark is what the linker writes into every program of that name: the path of its main
// package.
func programMark(name string) []byte { return []byte("path\ttachograph/cmd/" + name) }

// fileExists follows no link: a link that leads nowhere exists as well.
func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
