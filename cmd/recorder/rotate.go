package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/recorder/service"
	"tachograph/config"
)

func (a *app) rotateCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Finish the archive being written and begin a new one",
		Long:  "rotate asks the recorder that writes to an archive directory to finish its archive\nand to begin a new one, waits for that, and prints the path of the finished one.",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, args []string) error { return a.rotate(dir) },
	}
	c.Flags().StringVar(&dir, "archive", config.ReadArchiveDir(), "`DIR` that holds the archives")
	return c
}

// rotateWithin is how long finishing an archive may take.
const rotateWithin = 5 * time.Minute

func (a *app) rotate(dir string) error {
	st, err := running(dir)
	if err != nil {
		return err
	}
	asked := time.Now()
	if err := syscall.Kill(st.PID, syscall.SIGUSR1); err != nil {
		return fmt.Errorf("the recorder (pid %d) cannot be asked: %w", st.PID, err)
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for now := range ticker.C {
		st, err := service.ReadStatus(dir)
		if r := st.LastRotation; err == nil && r != nil && r.At.After(asked) {
			if r.Error != "" {
				return errors.New(r.Error)
			}
			fmt.Fprintln(a.out, r.Path)
			return nil
		}
		if now.Sub(asked) > rotateWithin {
			break
		}
	}
	return fmt.Errorf("the recorder (pid %d) did not finish its archive within %s", st.PID, rotateWithin)
}

// running returns the status of the recorder that writes to dir now.
func running(dir string) (service.Status, error) {
	st, err := service.ReadStatus(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, fmt.Errorf("no recorder writes to %s", dir)
	case errors.Is(err, fs.ErrPermission):
		return st, fmt.Errorf("no permission to read %s: be root, or a member of the group in the configuration", dir)
	case err != nil:
		return st, err
	// The file says whom to send a signal: it must come from somebody who may.
	case config.CheckDir(dir) != nil:
		return st, config.CheckDir(dir)
	case !service.Running(dir, st):
		return st, fmt.Errorf("no recorder writes to %s: the last one (pid %d) is gone", dir, st.PID)
	}
	return st, nil
}
