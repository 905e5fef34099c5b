package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
)

func mergeCommand(a *app) *cobra.Command {
	m := &merging{a: a}
	cmd := &cobra.Command{
		Use:   "merge ARCHIVE... -o NEW",
		Short: "Put archives together, without loss",
		Long: `merge makes one file of archives, also of those that are being written: one archive of
all of a boot, and a bundle of several boots or hosts. A bundle is a tar file of archives,
which replay reads like an archive and tar unpacks.

Every value, event, name and life is in it. What several archives hold, because one
was given twice or snapshots overlap, is counted once. Where they disagree, merge says
so and takes the first, and the exit status is 1. It is 1 as well where something cannot
be read.

An ARCHIVE is a file or a directory. With --from and --to only that window is put
together, with --host only some hosts.`,
		Example: `  replay merge monday.tacho tuesday.tacho -o week.tacho
  replay merge web1/ web2/ --from yesterday -o fleet.tacho`,
		RunE: func(_ *cobra.Command, args []string) error { return m.run(args) },
	}
	cmd.Flags().StringVarP(&m.dst, "output", "o", "", "the new file; must not exist")
	return cmd
}

// merging puts archives together.
type merging struct {
	a   *app
	dst string
}

func (m *merging) run(args []string) error {
	a := m.a
	if err := a.noRows("merge writes an archive; other commands answer"); err != nil {
		return err
	}
	switch {
	case len(args)+len(a.Sources) == 0:
		return errors.New("merge needs the archives to put together")
	case m.dst == "" || m.dst == "-":
		return errors.New("merge needs a name for the new file: -o NEW.tacho")
	}
	opt, err := copyOptions(a, args)
	if err != nil {
		return err
	}
	report, err := copyArchives(a, m.dst, opt)
	if err != nil {
		return err
	}
	text := m.dst + ": " + copied(a.clock, report)
	if report.Twice > 0 {
		text += fmt.Sprintf(", %s in several of them counted once", cli.Count(report.Twice, "reading"))
	}
	a.stdout.Println(text)
	return missing(a, report)
}
