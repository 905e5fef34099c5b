package main

import "github.com/spf13/cobra"

// overview is what replay shows when it is asked nothing in particular.
func (a *app) overview(cmd *cobra.Command, args []string) error {
	if err := a.load(args...); err != nil {
		return err
	}
	if _, err := a.window(); err != nil {
		return err
	}
	if err := a.info(); err != nil {
		return err
	}
	a.finish(cmd, args, true)
	return nil
}
