package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/report"
	"tachograph/sample"
	"tachograph/store/query"
)

// How much a report shows around an instant, and before a crash. What led there matters more
// than what followed.
const (
	reportBefore = 45 * time.Minute
	reportAfter  = 15 * time.Minute
	reportCrash  = time.Hour
)

// reporting writes a page about a window of one host.
type reporting struct {
	a       *app
	dst, at string
	crash   bool
	force   bool
}

func reportCommand(a *app) *cobra.Command {
	p := &reporting{a: a}
	cmd := &cobra.Command{
		Use:   "report [ARCHIVE...]",
		Short: "A page with plots in one file, to attach to a ticket",
		Long: `report writes a page about a window of one host: what was out of the ordinary, the
cause first (see replay why), plots of everything that zoom and scroll together, stacks
as a flame graph where any were sampled, the processes at the cursor, events, and the
processes that used most.

The page is one HTML file. It needs no network and no other file, opens from a
mail in any browser of 2023 or later, light or dark, and can be printed. Names in it
are shown as text and can do nothing. It holds names of processes, users, volumes
and interfaces: look through it before you give it to others.

The window is --from to --to, else all that the archives cover. --at shows 45
minutes before an instant and 15 after it, with the cursor there; with --from or
--to it only sets the cursor. --last-crash shows the hour before the machine last
panicked or ended without a shutdown; where it never did, the hour before the
recorder last ended uncleanly by itself. The page says which it was.

Without -o the file is named after the host and the begin of the window, in the
current directory. report overwrites a file only with --force. It writes under another
name first, so that there is a whole file or none.`,
		Example: `  replay report --from 03:00 --to 04:00 -o incident.html
  replay report --at 03:12
  replay report --last-crash -o crash.html
  replay report laptop.tacho -o laptop.html`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noRows("report writes a page; other commands answer"); err != nil {
				return err
			}
			if p.crash && (p.at != "" || a.From != "" || a.To != "") {
				return errors.New("--last-crash finds the window by itself: give it without --at, --from and --to")
			}
			if err := a.load(args...); err != nil {
				return err
			}
			return p.run(cmd, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&p.dst, "output", "o", "", "file to write; - is standard output")
	fl.StringVar(&p.at, "at", "", "the instant in question, where the cursor begins")
	fl.BoolVar(&p.crash, "last-crash", false, "the hour before the last panic or unclean end")
	fl.BoolVar(&p.force, "force", false, "overwrite a file that exists")
	return cmd
}

func (p *reporting) run(cmd *cobra.Command, args []string) error {
	a := p.a
	w, err := a.Window()
	if err != nil {
		return err
	}
	host, err := reportedHost(a.Archive, w)
	if err != nil {
		return err
	}
	r := report.Request{Host: host, From: w.From, To: w.To, Zone: a.Zone(), Version: sample.Version(), Made: a.Now()}
	r.Shell = func(args []string) string { return a.moreCommand(host, args, false) }
	if r.Defs, err = a.Definitions(); err != nil {
		return err
	}
	if err := p.window(&r); err != nil {
		return err
	}
	if p.dst == "" {
		p.dst = reportName(&a.session, r)
	}
	if p.dst != "-" {
		if err := mayWrite(p.dst, p.force); err != nil {
			return err
		}
	} else if err := a.noTerminal(p.dst, "the page"); err != nil {
		return err
	}
	r.Command = strings.Join(a.reproduce(cmd, args), " ")
	bar := a.newLateBar("making the page")
	r.Progress = func(share float64) { bar.show(int64(share*1000), 1000) }
	ctx, stop := a.untilEnded()
	defer stop()
	page, err := report.Collect(ctx, a.Archive, r)
	bar.clear()
	if err != nil {
		return err
	}
	if p.dst == "-" {
		return page.WriteHTML(a.stdout.Unwrap())
	}
	n, err := a.writeWhole(ctx, p.dst, page.WriteHTML)
	if err != nil {
		return err
	}
	asked := ""
	if p.crash {
		asked = "; " + r.Asked
	}
	a.stdout.Printf("%s: %s, %s%s\n", p.dst, page.Title(), human.Bytes(float64(n)), asked)
	return nil
}

// reportedHost returns the host that a report covers.
func reportedHost(a query.Archive, w query.Window) (string, error) {
	var ids, names []string
	for _, h := range a.Hosts() {
		if _, _, list := query.Covered(a, query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}); w.Wants(h.ID) && len(list) > 0 {
			ids, names = append(ids, h.ID), append(names, h.Name)
		}
	}
	if len(ids) != 1 {
		return "", fmt.Errorf("a report is of one host, and the archives are of %s: choose one with --host", strings.Join(names, ", "))
	}
	return ids[0], nil
}

// window applies --at and --last-crash to the window.
func (p *reporting) window(r *report.Request) error {
	a := p.a
	switch {
	case p.crash:
		c, ok := report.LastCrash(a.Archive, r.Host)
		if !ok {
			return errors.New("no panic and no unclean end was recorded: replay events shows what was")
		}
		r.From, r.To, r.Cursor = c.Last-int64(reportCrash), c.Up+int64(time.Minute), c.Last
		r.Asked = c.Text
	case p.at != "":
		at, err := a.Instant("at", p.at)
		if err != nil {
			return err
		}
		r.Cursor = at
		r.Asked = "around " + a.Show(at)
		if a.From == "" {
			r.From = at - int64(reportBefore)
		}
		if a.To == "" {
			r.To = at + int64(reportAfter)
		}
		from, to, list := query.Covered(a.Archive, query.Window{Hosts: []string{r.Host}, From: r.From, To: r.To})
		if len(list) == 0 {
			return a.Empty(query.Window{Hosts: []string{r.Host}, From: r.From, To: r.To})
		}
		if at < max(from, r.From) || at > min(to, r.To) {
			return fmt.Errorf("--at %s is not between %s and %s, which the page would show", a.Show(at), a.Show(max(from, r.From)), a.Show(min(to, r.To)))
		}
	}
	return nil
}

// reportName returns the name of a page if none was given.
func reportName(s *session, r report.Request) string {
	from := r.From
	if begin, _, _ := query.Covered(s.Archive, query.Window{Hosts: []string{r.Host}, From: r.From, To: r.To}); from < begin {
		from = begin
	}
	name := "host"
	for _, h := range s.Archive.Hosts() {
		if h.ID == r.Host {
			name = h.Name
		}
	}
	// A host name from a stranger's archive must not act as a path.
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, name[:min(len(name), 60)]), ".-")
	return name + "-" + s.In(from).Format("20060102T150405") + ".html"
}

// mayWrite refuses to overwrite dst unless force is set.
func mayWrite(dst string, force bool) error {
	info, err := os.Stat(dst)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory: name a file in it with -o %s", dst, filepath.Join(dst, "report.html"))
	case err == nil && info.Mode().IsRegular() && !force:
		return fmt.Errorf("%s exists: --force overwrites it, -o names another", dst)
	}
	return nil
}
