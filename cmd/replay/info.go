package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

func infoCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info [ARCHIVE...]",
		Short: "What the archives are: host, span, intervals, size, damage",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(args...); err != nil {
				return err
			}
			if _, err := a.Window(); err != nil {
				return err
			}
			if err := info(a); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	return cmd
}

func info(a *app) error {
	err := a.present(func() error {
		first := true
		for _, in := range a.Archive.Archives() {
			if !a.Used.Wants(in.Host.ID) {
				continue
			}
			if !first {
				a.stdout.Println()
			}
			first = false
			infoText(a, in)
		}
		return nil
	}, func() error { return infoRows(a) })
	if err != nil {
		return err
	}
	tellCopies(a)
	return nil
}

// tellCopies names the archives that are left out because others hold all of their data.
func tellCopies(a *app) {
	if r, ok := a.Archive.(*store.Reader); ok {
		for _, path := range r.Copies() {
			a.tell(path + " is left out: other archives tell all that it holds")
		}
	}
}

func infoText(a *app, info *store.ArchiveInfo) {
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); strings.TrimSpace(text) != "" {
			a.labelled(fmt.Sprintf("%-11s", name), text)
		}
	}
	h := info.Host
	state := ""
	switch {
	case beingWritten(info, a.Now()):
		state = "  (being written)"
	case isCopy(info.Path):
		state = "  (a copy of one that was being written: what was recorded later is not in it)"
	case info.Live:
		state = "  (not finished; no recorder writes to it)"
	}
	line("archive", "%s%s", info.Path, state)
	line("id", "%s, format %d", info.ID, info.Format)
	line("host", "%s", strings.Join(nonEmpty(h.Name, h.Model, h.Arch, strings.TrimSpace(h.OS+" "+h.Release)), ", "))
	for _, l := range h.Labels {
		line("", "%s %s", l.Name, labelText(l))
	}
	line("host id", "%s", h.ID)
	line("boot", "%s", info.BootID)
	if info.Empty {
		line("span", "nothing was recorded in it yet; it was made at %s", a.Show(info.From))
	} else {
		line("span", "%s to %s (%s)", a.Show(info.Begin()), a.Show(info.To), human.Duration(time.Duration(info.To-info.Begin())))
	}
	line("time zone", "%s", info.TimeZone)
	line("size", "%s", human.Bytes(float64(info.Bytes)))
	line("intervals", "%s", intervals(info))
	line("reduced", "%s", stepText(info))
	line("recorder", "%s", info.Recorder)
	for _, d := range query.Distrusts(a.Archive, query.Window{From: info.Begin(), To: info.To, Hosts: []string{h.ID}}) {
		a.labelledAs(fmt.Sprintf("%-11s", "distrust"), a.doubt(d), true)
	}
	for _, d := range info.Damage {
		a.labelledAs(fmt.Sprintf("%-11s", "damage"), d, true)
	}
}

// intervals says how often each class of metrics was read.
func intervals(info *store.ArchiveInfo) string {
	var every []string
	for c := metric.Class(0); c < metric.NumClasses; c++ {
		if iv := info.Intervals[c]; iv > 0 && iv < metric.Once && c != metric.Static {
			every = append(every, fmt.Sprintf("%s %s", c, human.Duration(iv)))
		}
	}
	return strings.Join(every, ", ")
}

// stepText says how long the steps of a reduced archive are, and from how many archives it was
// made.
func stepText(info *store.ArchiveInfo) string {
	if info.Step == 0 {
		return ""
	}
	return fmt.Sprintf("to steps of %s, of %s", human.Duration(time.Duration(info.Step)), cli.Count(len(info.Of), "archive"))
}

// labelText formats the value of a host's label for people.
func labelText(l metric.Label) string {
	if bytes, err := strconv.ParseUint(l.Value, 10, 64); l.Name == "memory" && err == nil {
		return human.Bytes(float64(bytes))
	}
	return l.Value
}

func infoRows(a *app) error {
	columns := []out.Column{
		{Name: "path"}, {Name: "id"}, {Name: "format"}, {Name: "host_name"}, {Name: "host_id"}, {Name: "platform"},
		{Name: "os"}, {Name: "release"}, {Name: "arch"}, {Name: "model"}, {Name: "boot_id"}, {Name: "time_zone"},
		{Name: "recorder"}, {Name: "from"}, {Name: "to"}, {Name: "live"}, {Name: "bytes"}, {Name: "damage"},
		{Name: "intervals", Only: out.InJSON},
	}
	w, err := a.rows(columns...)
	if err != nil {
		return err
	}
	for _, i := range a.Archive.Archives() {
		if !a.Used.Wants(i.Host.ID) {
			continue
		}
		h := i.Host
		err := w.Row([]out.Cell{
			hostCell(&i.Host), out.Str(i.Path), out.Str(i.ID), out.Whole(int64(i.Format)), out.Str(h.Name), out.Str(h.ID), out.Str(h.Platform),
			out.Str(h.OS), out.Str(h.Release), out.Str(h.Arch), out.Str(h.Model), out.Str(i.BootID), out.Str(i.TimeZone),
			out.Str(i.Recorder), out.At(i.Begin()), out.At(i.To), boolean(i.Live), out.Whole(i.Bytes), out.Str(strings.Join(i.Damage, "; ")),
			out.Str(intervals(i)),
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}
