package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// controlCommands are the verbs that drive the installed service.
func (a *app) controlCommands() []*cobra.Command {
	verb := func(use, short, done string, do func(*host) error) *cobra.Command {
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
				if err := do(&h); err != nil {
					return err
				}
				fmt.Fprintln(a.out, done)
				return nil
			},
		}
	}
	return []*cobra.Command{
		verb("start", "Start the installed service", "the recorder is running", func(h *host) error {
			since := time.Now()
			if st, err := h.manager.State(); err == nil && st.Running {
				since = time.Time{}
			}
			return h.bringUp(since, func() error { return h.manager.Start(h.layout) })
		}),
		verb("stop", "Stop the installed service until the next start of the machine", "the recorder is stopped",
			func(h *host) error { return h.manager.Stop() }),
		verb("restart", "Restart the installed service", "the recorder was restarted", func(h *host) error {
			return h.bringUp(time.Now(), func() error { return h.manager.Restart(h.layout) })
		}),
	}
}
