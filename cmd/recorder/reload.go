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

func (a *app) reloadCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "reload",
		Short: "Make the recorder read its configuration again",
		Long: "reload asks the recorder that writes to an archive directory to read its\n" +
			"configuration again and waits for the answer. One with a mistake is refused, and\n" +
			"the old one stays in force: reload then says why and fails, and status says so\n" +
			"until a good one is read.",
		Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.reload(dir) },
	}
	c.Flags().StringVar(&dir, "archive", config.ReadArchiveDir(), "`DIR` that holds the archives")
	return c
}

// reloadWithin is how long a change to another configuration may take.
const reloadWithin = time.Minute

func (a *app) reload(dir string) error {
	st, err := a.ask(dir, syscall.SIGHUP, reloadWithin, func(st *service.Status) time.Time {
		if st.LastReload == nil {
			return time.Time{}
		}
		return st.LastReload.At
	})
	if err != nil {
		return err
	}
	if st.LastReload.Error != "" {
		return noError{errors.New(st.LastReload.Error)}
	}
	from := st.Config
	if from == "" {
		from = "the defaults"
	}
	_, err = fmt.Fprintf(a.out, "the configuration was read again: %s\n", from)
	return err
}
