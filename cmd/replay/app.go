package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/exit"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/when"
	"tachograph/config"
	"tachograph/store"
	"tachograph/store/query"
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
	stdout, stderr *visible.Writer
	now            func() time.Time
	open           func(paths ...string) (reader, error)
	width, height  int  // of the terminal; 0 when stdout is none
	ascii          bool // the locale has no other letters
	color          bool // stdout is a terminal that may be coloured
	progress       bool // stderr is a terminal

	// Flags that all commands share.
	archives    []string
	hosts       []string
	from, to    string
	format      string
	utc         bool
	tz          string
	showCommand bool
	spreadsheet bool
	derived     []string

	words    []string // of the command line
	archive  query.Archive
	close    func() error
	paths    []string
	argPaths int               // how many of them are arguments
	resolved map[string]string // times as they came out, by flag
	used     query.Window
	location *time.Location // see zone; nil until it is known
	// damageTold are the archives that have been warned of; nil where a command
	// tells of damage itself.
	damageTold map[string]bool
}

func newApp(stdout, stderr io.Writer, now func() time.Time) *app {
	return &app{stdout: visible.NewWriter(stdout, false), stderr: visible.NewWriter(stderr, false), now: now, open: openStore,
		resolved: make(map[string]string), damageTold: make(map[string]bool)}
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	a.words = args
	root := a.command()
	root.SetArgs(withNegatives(root, args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := contain(root.Execute)
	a.tellDamage()
	if a.close != nil {
		a.close()
	}
	defer a.stderr.Flush()
	a.stdout.Flush()
	switch {
	case err == nil && a.failed():
		return exit.Failed
	case err == nil:
		return exit.Yes
	case errors.Is(err, errNo):
		return exit.No
	}
	text := "replay: " + err.Error()
	if pointed := (*query.ExprError)(nil); !errors.As(err, &pointed) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	for line := range strings.Lines(text) {
		a.stderr.Println(strings.TrimSuffix(line, "\n"))
	}
	return exit.Failed
}

// contain runs fn and makes an error of a panic: what a stranger's archive
// holds must not look as if the terminal were broken.
func contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this program failed, which is a mistake of the program; please report it: %v (TACHO_PANIC=1 shows where)", p)
			if os.Getenv("TACHO_PANIC") != "" {
				panic(p)
			}
		}
	}()
	return fn()
}

// failed reports whether an archive was answered for that made this program
// fail: the answer is of the others.
func (a *app) failed() bool {
	return a.archive != nil && slices.ContainsFunc(a.archive.Archives(), func(info *store.ArchiveInfo) bool { return info.Failed })
}

// likelyPath is the path on the command line that was meant as an archive, where
// the command takes it for something else.
func (a *app) likelyPath() string {
	for _, w := range a.words {
		if strings.HasSuffix(w, ".tacho") || strings.HasSuffix(w, ".live") {
			return w
		}
		if names, _ := filepath.Glob(filepath.Join(w, "*.[tl]*")); slices.ContainsFunc(names, func(n string) bool {
			return strings.HasSuffix(n, ".tacho") || strings.HasSuffix(n, ".live")
		}) {
			return w
		}
	}
	return "PATH"
}

// load opens the archives: those of --archive, those given as plain arguments,
// or the recorder's own.
func (a *app) load(args ...string) error {
	paths := append(append([]string{}, a.archives...), args...)
	if len(paths) == 0 {
		dir := config.ReadArchiveDir()
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no archive at %s, where recorder keeps them by default; name one with --archive %s", dir, a.likelyPath())
		}
		paths = []string{dir}
	}
	for _, p := range paths {
		if _, err := os.Lstat(p); errors.Is(err, os.ErrPermission) {
			return noPermission(p)
		} else if err != nil {
			return fmt.Errorf("cannot read %s: %w", p, errors.Unwrap(err))
		}
	}
	r, err := a.open(paths...)
	if errors.Is(err, os.ErrPermission) {
		return noPermission(strings.Join(paths, ", "))
	}
	if err != nil {
		return err
	}
	a.archive, a.close, a.paths, a.argPaths = r, r.Close, paths, len(args)
	a.tellDamage()
	if len(r.Archives()) == 0 {
		return fmt.Errorf("no archive in %s", strings.Join(paths, ", "))
	}
	return nil
}

// noPermission is the refusal to look at archives, and what to do about it.
func noPermission(path string) error {
	return fmt.Errorf("no permission to read %s: run the same with sudo, or as a member of the group that may read the archives (archive.group in the recorder's configuration)", path)
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
		a.stderr.Printf("replay: %s is damaged: %s%s; what is shown is what could be read (replay verify tells all)\n",
			info.Path, info.Damage[0], more)
	}
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
	a.used.Hosts, a.location = w.Hosts, nil
	if len(a.derived) > 0 {
		// Also where the question has no use for them, a mistake is one.
		if _, err := a.definitions(); err != nil {
			return w, err
		}
	}
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
	return out.New(a.stdout, columns, out.Options{Format: f, Zone: a.zone(), Width: a.width, Color: a.color, Spreadsheet: a.spreadsheet}), nil
}

func hostCell(h *store.Host) out.Cell { return out.Str(h.Name) }

// table reports whether people read the output.
func (a *app) table() bool { return a.format == string(out.Table) }
