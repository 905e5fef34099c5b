package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/service"
	"tachograph/config"
)

func (a *app) statusCommand() *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Say how the recorder is doing",
		Long: "status says whether a recorder is running, what it uses, when it last read each\n" +
			"class, how large the archives are and how long they will last. Its exit status\n" +
			"is 0 when the recorder is healthy, 1 when it is not.",
		Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.status(dir, asJSON) },
	}
	c.Flags().StringVar(&dir, "archive", config.ReadArchiveDir(), "`DIR` that holds the archives")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a *app) status(dir string, asJSON bool) error {
	st, err := service.ReadStatus(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.noRecorder(dir, asJSON)
	case errors.Is(err, fs.ErrPermission):
		return noPermission(dir)
	case err != nil:
		return err
	}
	r := service.Judge(dir, st, time.Now())
	a.askManager(dir, &r)
	if h, ok := a.serviceOf(dir); ok {
		r.Server = h.serverState()
	}
	r.Pushes = pushstate.Reports(config.PushDirs(), newestTick(r.Status.Classes), time.Now())
	if asJSON {
		err = json.NewEncoder(a.out).Encode(r)
	} else {
		a.toRead()
		_, err = fmt.Fprint(a.out, printable(statusText(&r, a.width)))
	}
	if err != nil {
		return err
	}
	if !r.Healthy {
		return errNo
	}
	return nil
}

// askManager finds out why an installed service is not running.
func (a *app) askManager(dir string, r *service.Report) {
	if r.Running {
		return
	}
	h, ok := a.serviceOf(dir)
	if !ok {
		return
	}
	switch st, err := h.manager.State(); {
	case err != nil:
	case st.Disabled:
		r.Problems = append(r.Problems, "its service is disabled: on macOS it may be switched off in System Settings, General, Login Items & Extensions; `sudo recorder start` enables it otherwise")
	case !st.Loaded:
		r.Problems = append(r.Problems, h.manager.Name()+" does not know its service: run `sudo recorder start`")
	case st.LastExit != "":
		r.Problems = append(r.Problems, h.manager.Name()+" says: "+st.LastExit)
	}
	if line := h.lastWords(r.Status.Started); line != "" && !r.Status.Stopped {
		r.Problems = append(r.Problems, "its last error: "+line)
	}
}

func (a *app) noRecorder(dir string, asJSON bool) error {
	why := a.lastWordsOf(dir, service.Status{}, fmt.Errorf("no recorder has written to %s: `sudo recorder install` has one record here, and --archive DIR says where another one does", dir))
	if !asJSON {
		return noError{why}
	}
	r := service.Report{Problems: []string{why.Error()}}
	if err := json.NewEncoder(a.out).Encode(r); err != nil {
		return err
	}
	return errNo
}

func statusText(r *service.Report, width int) string {
	var b strings.Builder
	var facts [][2]string
	row := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name + "  ", visible.Text(fmt.Sprintf(format, args...))})
	}
	st := &r.Status
	now := r.Now
	switch {
	case r.Running && r.Healthy:
		row("recorder", "healthy, pid %d, running since %s (%s)", st.PID, clock(st.Started), ago(now, st.Started))
	case r.Running:
		row("recorder", "IN TROUBLE, pid %d, running since %s (%s)", st.PID, clock(st.Started), ago(now, st.Started))
	default:
		row("recorder", "NOT RUNNING; the last one was seen at %s (%s ago)", clock(st.At), ago(now, st.At))
	}
	for _, p := range r.Problems {
		row("", "%s", p)
	}
	if newest := newestTick(st.Classes); !newest.IsZero() {
		row("data", "up to %s (%s ago)", clock(newest), ago(now, newest))
	}
	row("uses", "%.2g %% of a core, %s of memory", st.CPUPercent, service.Size(st.ResidentBytes))
	row("records", "%.0f values a second, %s so far", r.ValuesPerSecond, thousands(float64(st.Values)))
	row("archive", "%s, %s since %s", st.Archive.Path, service.Size(st.Archive.Bytes), clock(st.Archive.Since))
	if r.BytesPerDay > 0 {
		row("growth", "%s a day", service.Size(r.BytesPerDay))
	}
	row("history", "%.1f days kept in %s", r.DaysKept, service.Size(st.Archive.FinishedBytes+st.Archive.Bytes))
	if red := st.Reduction; red != nil && red.Path != "" {
		row("reducing", "%s, since %s, before it is removed", red.Path, clock(red.Since))
	} else if red != nil {
		row("reducing", "failed: %s", red.Error)
	}
	if r.DaysFit > 0 {
		row("room", "for %.0f days", r.DaysFit)
	}
	row("at risk", "%s in a crash of the kernel, %s in a power cut", seconds(time.Duration(st.Archive.AtRiskCrash)), seconds(time.Duration(st.Archive.AtRiskPowerCut)))
	if st.TCPGate != "" {
		row("tcp counters", "%s", st.TCPGate)
	}
	for _, n := range st.Notices {
		row("note", "%s", n)
	}
	if r.Server != "" {
		row("server", "%s", r.Server)
	}
	for i := range r.Pushes {
		p := &r.Pushes[i]
		row("push", "%s", p.Words())
		if p.Trouble != "" {
			row("", "%s", p.Trouble)
		}
	}
	name := "triggers"
	for _, text := range triggerRows(st.Triggers, now) {
		row(name, "%s", text)
		name = ""
	}
	if o := st.Owners; o != nil {
		row("owners", "%s", ownersText(o))
		for _, e := range o.Last {
			row("", "%s %s", clock(e.At), e.Text)
		}
	}
	row("errors", "%d in the last hour, %d since the start", st.ErrorsLastHour, st.Errors)
	if rot := st.LastRotation; rot != nil {
		row("rotated", "%s, %s%s", clock(rot.At), rot.Why, failure(rot.Error))
	}
	if re := st.LastReload; re != nil {
		row("reloaded", "%s%s", clock(re.At), refusal(re.Error))
	}
	if ship := st.LastShipping; ship != nil {
		switch {
		case ship.At.IsZero():
			row("shipped", "nothing yet, %d waiting", ship.Waiting)
		default:
			row("shipped", "%s %s, %d waiting%s", clock(ship.At), ship.Path, ship.Waiting, failure(ship.Error))
		}
	}
	if did := st.LastSampling; did != nil {
		row("stacks", "%s, %s, %s%s", clock(did.At), did.About, cli.Count(did.Samples, "sample"), failure(did.Error))
	}
	writeFacts(&b, facts, "", width)
	b.WriteByte('\n')
	rows := [][]string{{"class", "every", "last tick", "ticks", "overruns", "took", "latest"}}
	for _, c := range st.Classes {
		every := "archive"
		if c.IntervalSeconds > 0 {
			every = seconds(time.Duration(c.IntervalSeconds * 1e9))
		}
		if c.Stretched {
			every += " (stretched)"
		}
		if c.Burst {
			every += " (burst)"
		}
		last := "-"
		if !c.LastTick.IsZero() {
			last = ago(now, c.LastTick) + " ago"
		}
		rows = append(rows, []string{visible.Text(c.Class), every, last, fmt.Sprint(c.Ticks), fmt.Sprint(c.Overruns), millis("%.1f", c.TookSeconds), millis("%.1f", c.MaxLateSeconds)})
	}
	writeColumns(&b, rows, width)
	b.WriteByte('\n')
	rows = [][]string{{"dearest sources", "took", "at most", "readings", "errors", "timeouts"}}
	for _, s := range dearest(st.Sources, 5) {
		hung := ""
		if s.Hung {
			hung = " HANGS"
		}
		rows = append(rows, []string{visible.Text(s.Source) + hung, millis("%.2f", s.LastSeconds), millis("%.2f", s.MaxSeconds), fmt.Sprint(s.Reads), fmt.Sprint(s.Errors), fmt.Sprint(s.Timeouts)})
	}
	writeColumns(&b, rows, width)
	return b.String()
}

// printable replaces what could control a terminal: any user may have written the status file.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// newestTick returns when something was last recorded.
func newestTick(classes []service.ClassStatus) time.Time {
	var newest time.Time
	for _, c := range classes {
		if c.LastTick.After(newest) {
			newest = c.LastTick
		}
	}
	return newest
}

// dearest returns the n sources that have taken most time since the recorder started, and all
// that hang.
func dearest(all []service.SourceStatus, n int) []service.SourceStatus {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b service.SourceStatus) int {
		if a.Hung != b.Hung {
			return map[bool]int{true: -1, false: 1}[a.Hung]
		}
		return cmp.Compare(b.TotalSeconds, a.TotalSeconds)
	})
	for n < len(sorted) && sorted[n].Hung {
		n++
	}
	return sorted[:min(n, len(sorted))]
}

func refusal(text string) string {
	if text == "" {
		return ", the new configuration is in force"
	}
	return ", REFUSED: " + text
}

func failure(text string) string {
	if text == "" {
		return ""
	}
	return ", FAILED: " + text
}

// ownersText says what happened to services, containers and sessions since the recorder started.
func ownersText(o *service.OwnersStatus) string {
	var parts []string
	for _, p := range []struct {
		n    uint64
		what string
	}{{o.Came, "came"}, {o.Went, "went"}, {o.Restarted, "restarted"}, {o.Killed, "had processes killed for want of memory"}, {o.Throttled, "held back by quotas"}} {
		if p.n > 0 {
			parts = append(parts, thousands(float64(p.n))+" "+p.what)
		}
	}
	if parts == nil {
		return "limits were changed"
	}
	return strings.Join(parts, ", ")
}
