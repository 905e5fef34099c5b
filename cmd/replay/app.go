package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/when"
	"tachograph/config"
	"tachograph/store"
	"tachograph/store/query"
)

// Exit statuses: a question answered, a question answered with no, and one
// that could not be answered.
const (
	exitYes   = 0
	exitNo    = 1
	exitError = 2
)

// errNo ends a command whose answer, already printed, is no.
var errNo = errors.New("no")

// reader is an open archive or timeline of archives.
type reader interface {
	query.Archive
	Close() error
}

// app is one run of the program: where it writes and what was asked of it.
type app struct {
	stdout, stderr io.Writer
	now            func() time.Time
	open           func(paths ...string) (reader, error)
	width          int  // of the terminal; 0 when stdout is none
	color          bool // stdout is a terminal that may be coloured
	progress       bool // stderr is a terminal

	// Flags that all commands share.
	archives    []string
	hosts       []string
	from, to    string
	format      string
	utc         bool
	showCommand bool
	derived     []string

	archive  query.Archive
	close    func() error
	paths    []string
	resolved map[string]string // times as they came out, by flag
	used     query.Window
	// damageTold are the archives that have been warned of; nil where a command
	// tells of damage itself.
	damageTold map[string]bool
}

func newApp(stdout, stderr io.Writer, now func() time.Time) *app {
	return &app{stdout: stdout, stderr: stderr, now: now, open: openStore, resolved: make(map[string]string),
		damageTold: make(map[string]bool)}
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.Execute()
	a.tellDamage()
	if a.close != nil {
		a.close()
	}
	switch {
	case err == nil:
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	}
	text := strings.TrimPrefix(err.Error(), "store: ")
	if pointed := (*query.ExprError)(nil); !errors.As(err, &pointed) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	fmt.Fprintf(a.stderr, "replay: %s\n", text)
	return exitError
}

// load opens the archives: those of --archive, those given as plain arguments,
// or the recorder's own.
func (a *app) load(args ...string) error {
	paths := append(append([]string{}, a.archives...), args...)
	if len(paths) == 0 {
		dir := config.ReadArchiveDir()
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no archive at %s, where recorder keeps them by default; name one with --archive PATH", dir)
		}
		paths = []string{dir}
	}
	for _, p := range paths {
		if _, err := os.Lstat(p); err != nil {
			return fmt.Errorf("cannot read %s: %w", p, errors.Unwrap(err))
		}
	}
	r, err := a.open(paths...)
	if err != nil {
		return err
	}
	a.archive, a.close, a.paths = r, r.Close, paths
	a.tellDamage()
	if len(r.Archives()) == 0 {
		return fmt.Errorf("no archive in %s", strings.Join(paths, ", "))
	}
	return nil
}

// tellDamage warns, once for each archive, that some of it could not be read.
// Damage may come to light only when a question meets it.
func (a *app) tellDamage() {
	if a.archive == nil || a.damageTold == nil {
		return
	}
	for _, info := range a.archive.Archives() {
		if len(info.Damage) == 0 || a.damageTold[info.ID] {
			continue
		}
		a.damageTold[info.ID] = true
		more := ""
		if n := len(info.Damage); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		fmt.Fprintf(a.stderr, "replay: %s is damaged: %s%s; what is shown is what could be read (replay verify tells all)\n",
			info.Path, strings.TrimPrefix(info.Damage[0], "store: "), more)
	}
}

func (a *app) zone() *time.Location {
	if a.utc {
		return time.UTC
	}
	return time.Local
}

// reference is what times on the command line are relative to.
func (a *app) reference() when.Reference {
	ref := when.Reference{Now: a.now(), Zone: a.zone()}
	if from, to, _ := query.Covered(a.archive, query.Window{Hosts: a.used.Hosts}); to != 0 {
		ref.Start, ref.End = time.Unix(0, from), time.Unix(0, to)
	}
	return ref
}

// instant reads a time given by the flag called name.
func (a *app) instant(name, text string) (int64, error) {
	t, err := a.reference().Parse(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", name, err)
	}
	a.resolved[name] = t.In(a.zone()).Format(time.RFC3339Nano)
	return t.UnixNano(), nil
}

// window resolves --host, --from and --to.
func (a *app) window() (query.Window, error) {
	w := query.Window{}
	var err error
	if w.Hosts, err = a.hostIDs(); err != nil {
		return w, err
	}
	a.used.Hosts = w.Hosts
	if a.from != "" {
		if w.From, err = a.instant("from", a.from); err != nil {
			return w, err
		}
	}
	if a.to != "" {
		text := a.to
		if strings.HasPrefix(text, "+") && a.from != "" {
			d, err := when.Offset(text)
			if err != nil {
				return w, fmt.Errorf("--to: %w", err)
			}
			text = time.Unix(0, w.From).Add(d).Format(time.RFC3339Nano)
		}
		if w.To, err = a.instant("to", text); err != nil {
			return w, err
		}
	}
	if w.To != 0 && w.To < w.From {
		return w, fmt.Errorf("--from %s is after --to %s", a.show(w.From), a.show(w.To))
	}
	a.used = w
	if _, _, list := query.Covered(a.archive, w); len(list) == 0 {
		return w, a.emptyWindow(w)
	}
	return w, nil
}

// emptyWindow says what the archive covers instead.
func (a *app) emptyWindow(w query.Window) error {
	from, to, _ := query.Covered(a.archive, query.Window{Hosts: w.Hosts})
	if to == 0 {
		return fmt.Errorf("the archive holds nothing yet")
	}
	asked := "after " + a.show(w.From)
	switch {
	case w.From == 0:
		asked = "until " + a.show(w.To)
	case w.To != 0:
		asked = "from " + a.show(w.From) + " to " + a.show(w.To)
	}
	return fmt.Errorf("nothing was recorded %s: the archive covers %s to %s", asked, a.show(from), a.show(to))
}

func (a *app) show(wall int64) string {
	return time.Unix(0, wall).In(a.zone()).Format("2006-01-02 15:04:05 MST")
}

// hostIDs resolves --host patterns to the IDs of hosts.
func (a *app) hostIDs() ([]string, error) {
	if len(a.hosts) == 0 {
		return nil, nil
	}
	var ids, names []string
	for _, text := range a.hosts {
		p, err := query.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		found := false
		for _, h := range a.archive.Hosts() {
			names = append(names, h.Name)
			if p.Match(h.Name) || p.Match(h.ID) {
				ids, found = append(ids, h.ID), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no host %q in the archives, which are of %s%s", text, strings.Join(names, ", "), query.Suggest(text, names))
		}
	}
	return ids, nil
}

// manyHosts reports whether rows must say which host they are about.
func (a *app) manyHosts() bool {
	n := 0
	for _, h := range a.archive.Hosts() {
		if a.used.Wants(h.ID) {
			n++
		}
	}
	return n > 1
}

// rows begins the output. With several hosts a leading column tells them
// apart; rows then begin with hostCell.
func (a *app) rows(columns ...out.Column) (out.Writer, error) {
	host := out.Column{Name: "host", Only: out.Nowhere}
	if a.manyHosts() {
		host.Only = out.Everywhere
	}
	return a.begin(append([]out.Column{host}, columns...))
}

// rowsOf begins output that is not about hosts; rows still begin with a cell
// for one.
func (a *app) rowsOf(columns ...out.Column) (out.Writer, error) {
	return a.begin(append([]out.Column{{Name: "host", Only: out.Nowhere}}, columns...))
}

func (a *app) begin(columns []out.Column) (out.Writer, error) {
	f, err := out.ParseFormat(a.format)
	if err != nil {
		return nil, err
	}
	return out.New(a.stdout, columns, out.Options{Format: f, Zone: a.zone(), Width: a.width, Color: a.color}), nil
}

func hostCell(h *store.Host) out.Cell { return out.Str(h.Name) }

// table reports whether people read the output.
func (a *app) table() bool { return a.format == string(out.Table) }

// finish prints, where it is asked for, the command line that gives the same
// answer again, and which archives it came from.
func (a *app) finish(cmd *cobra.Command, args []string, always bool) {
	if !a.showCommand && !always {
		return
	}
	w := a.stdout
	if !a.table() {
		w = a.stderr
	}
	fmt.Fprintf(w, "\n%s\n", a.reproduce(cmd, args))
}

// sharedFlags are printed by reproduce in their own way.
var sharedFlags = map[string]bool{"archive": true, "from": true, "to": true, "at": true, "show-command": true}

// reproduce is the command line with absolute times and paths, and the
// identity of what it read.
func (a *app) reproduce(cmd *cobra.Command, args []string) string {
	line := []string{cmd.CommandPath()}
	for _, s := range args {
		if len(a.paths) > 0 && contains(a.paths, s) {
			continue
		}
		line = append(line, quote(s))
	}
	for _, f := range changed(cmd) {
		if !sharedFlags[f.name] {
			line = append(line, "--"+f.name+"="+quote(f.value))
		}
	}
	for _, name := range []string{"at", "from", "to"} {
		if t := a.resolved[name]; t != "" {
			line = append(line, "--"+name, t)
		}
	}
	for _, p := range a.paths {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		line = append(line, "--archive", quote(p))
	}
	var ids []string
	_, _, list := query.Covered(a.archive, a.used)
	for _, info := range list {
		ids = append(ids, info.ID)
	}
	more := ""
	if len(ids) > 3 {
		more = fmt.Sprintf(" and %d more", len(ids)-3)
		ids = ids[:3]
	}
	return "# " + strings.Join(line, " ") + "\n# read from archive " + strings.Join(ids, ", ") + more
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// quote makes s one word for a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:,@%+=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
