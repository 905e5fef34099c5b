package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
	"tachograph/config"
	"tachograph/store/layout"
	"tachograph/store/mend"
)

func verifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [ARCHIVE...]",
		Short: "Check that archives are as they were written",
		Long: `verify checks everything in an archive, or in all archives of a directory: the
structure of the database, every checksum, every chunk decoded, and whether the
index agrees with the content. It prints one line for each finding and exits
with 1 if there is any.

The archive that a recorder is writing can be verified at any time.`,
		RunE: func(cmd *cobra.Command, args []string) error { return verify(a, args) },
	}
}

// sources returns the paths to check, which need not be readable.
func sources(archives, args []string) ([]string, error) {
	paths := slices.Concat(archives, args)
	if len(paths) > 0 {
		return paths, nil
	}
	dir := config.ReadArchiveDir()
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no archive at %s, where recorder keeps them by default; name one", dir)
	}
	return []string{dir}, nil
}

func verify(a *app, args []string) error {
	find := func(args []string) ([]string, error) { return sources(a.Sources, args) }
	if a.Given != nil {
		find = a.Locate
	}
	paths, err := find(args)
	if err != nil {
		return err
	}
	var found []mend.Finding
	for _, p := range paths {
		bar := a.newBar("verifying " + p)
		fs, err := mend.Verify(p, func(done, total int64) error {
			bar.show(done, total)
			return a.ctx.Err()
		})
		bar.clear()
		if err != nil {
			return err
		}
		found = append(found, fs...)
	}
	err = a.present(func() error {
		for _, one := range found {
			a.alarming(one.String())
		}
		if len(found) == 0 {
			a.stdout.Println("everything is as it was written")
		}
		return nil
	}, func() error { return a.findings(found) })
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return errNo
	}
	for _, p := range paths {
		files, _ := layout.FilesAt(p)
		for _, file := range files {
			if isCopy(file) {
				a.warn(copyText(file))
			}
		}
	}
	return nil
}

// findings writes findings for programs.
func (a *app) findings(found []mend.Finding) error {
	w, err := a.rowsOf(out.Column{Name: "path"}, out.Column{Name: "where"}, out.Column{Name: "what"}, out.Column{Name: "from"}, out.Column{Name: "to"})
	if err != nil {
		return err
	}
	for _, one := range found {
		if err := w.Row([]out.Cell{{}, out.Str(one.Path), out.Str(one.Where), out.Str(one.What), out.At(one.From), out.At(one.To)}); err != nil {
			return err
		}
	}
	return w.Close()
}
