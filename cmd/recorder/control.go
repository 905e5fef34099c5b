package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tachograph/launchd"
)

// controlCommands are the verbs that drive the installed service.
func (a *app) controlCommands() []*cobra.Command {
	verb := func(use, short, done string, do func(launchd.Manager, launchd.Layout) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: noArgs,
			RunE: func(c *cobra.Command, args []string) error {
				h, err := a.host()
				if err != nil {
					return err
				}
				if h.euid != 0 {
					return fmt.Errorf("only root may do that: run `sudo recorder %s`", use)
				}
				if err := do(h.manager, h.layout); err != nil {
					return err
				}
				fmt.Fprintln(a.out, done)
				return nil
			},
		}
	}
	return []*cobra.Command{
		verb("start", "Start the installed service", "the recorder is running",
			func(m launchd.Manager, l launchd.Layout) error { return m.Start(l) }),
		verb("stop", "Stop the installed service until the next start of the machine", "the recorder is stopped",
			func(m launchd.Manager, l launchd.Layout) error { return m.Stop() }),
		verb("restart", "Restart the installed service", "the recorder was restarted",
			func(m launchd.Manager, l launchd.Layout) error { return m.Restart(l) }),
	}
}
