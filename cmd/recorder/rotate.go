package main

import (
	"errors"
	"fmt"
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
	st, err := a.ask(dir, syscall.SIGUSR1, rotateWithin, func(st *service.Status) time.Time {
		if st.LastRotation == nil {
			return time.Time{}
		}
		return st.LastRotation.At
	})
	if err != nil {
		return err
	}
	if st.LastRotation.Error != "" {
		return errors.New(st.LastRotation.Error)
	}
	_, err = fmt.Fprintln(a.out, st.LastRotation.Path)
	return err
}
