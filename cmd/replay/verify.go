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
	f, err := out.ParseFormat(a.format)
	if err != nil {
		return err
	}
	var found []mend.Finding
	for _, p := range paths {
		bar := a.newBar("verifying " + p)
		fs, err := mend.Verify(p, bar.show)
		bar.clear()
		if err != nil {
			return err
		}
		found = append(found, fs...)
	}
	if f == out.Table {
		for _, one := range found {
			a.alarming(one.String())
		}
	} else if err := writeFindings(&a.page, f, found); err != nil {
		return err
	}
	if len(found) > 0 {
		return errNo
	}
	if f == out.Table {
		a.stdout.Println("everything is as it was written")
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

// writeFindings writes findings for programs.
func writeFindings(p *page, f out.Format, found []mend.Finding) error {
	columns := []out.Column{{Name: "path"}, {Name: "where"}, {Name: "what"}, {Name: "from"}, {Name: "to"}}
	w := out.New(p.stdout, columns, out.Options{Format: f, Zone: p.Zone(), Spreadsheet: p.spreadsheet})
	for _, one := range found {
		from, to := out.None(""), out.None("")
		if one.From != 0 {
			from = out.At(one.From)
		}
		if one.To != 0 {
			to = out.At(one.To)
		}
		if err := w.Row([]out.Cell{out.Str(one.Path), out.Str(one.Where), out.Str(one.What), from, to}); err != nil {
			return err
		}
	}
	return w.Close()
}
