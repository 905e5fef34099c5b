package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/store/mend"
)

func repairCommand(a *app) *cobra.Command {
	var dst string
	cmd := &cobra.Command{
		Use:   "repair ARCHIVE -o NEW",
		Short: "Save what can be saved of a damaged archive",
		Long: `repair makes a new archive of all that can still be read of a damaged one: from
either root of its database, from pages that nothing leads to any more, and from
the journals beside it. What is lost is listed, by time. The damaged archive is
not changed; exit status 1 says that something is lost.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths := append(append([]string{}, a.Sources...), args...)
			if len(paths) != 1 {
				return errors.New("repair needs the path of one archive")
			}
			if dst == "" {
				return errors.New("repair needs a name for the new archive: -o NEW.tacho")
			}
			return repair(a, paths[0], dst)
		},
	}
	cmd.Flags().StringVarP(&dst, "output", "o", "", "the new archive; must not exist")
	return cmd
}

func repair(a *app, src, dst string) error {
	a.Paths = []string{src}
	if err := a.spare(dst); err != nil {
		return err
	}
	bar := a.newBar("reading " + src)
	r, err := mend.Repair(src, dst, bar.show)
	bar.clear()
	if err != nil {
		return err
	}
	for _, d := range r.Damage {
		a.complain("damage: " + d)
	}
	a.stdout.Printf("%s: %s in %s and %s saved (%s whole, %d in part, %s from journals)\n",
		dst, cli.Count(r.Values, "value"), cli.Count(r.Ticks, "tick"), cli.Count(r.Events, "event"), cli.Count(r.Chunks, "chunk"), r.Rescued, cli.Count(r.Journal, "tick"))
	for _, l := range r.Lost {
		a.stdout.Printf("lost: %s\n", l)
	}
	if len(r.Lost) > 0 {
		return errNo
	}
	return nil
}
