package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/config"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/layout"
	"tachograph/store/query"
)

// reader is an open archive or timeline of archives.
type reader interface {
	query.Archive
	Losses() []store.Loss
	Refresh() error
	Close() error
}

// session is what a question is about: the archives, the hosts and the window, and how the words
// for them were understood.
type session struct {
	*clock
	Open func(paths ...string) (reader, error)
	// follows opens a follower of what is being recorded.
	follows func(opt follow.Options, paths ...string) (follower, error)
	// ownDefinitions returns the path of the user's file of derived metrics, "" for none.
	OwnDefinitions func() string

	// Flags.
	Sources  []string
	Hosts    []string
	From, To string
	Derived  []string

	Archive  reader
	Close    func() error
	Paths    []string
	ArgPaths int               // how many of paths are arguments
	Resolved map[string]string // absolute times, by flag
	Used     query.Window
	Words    []string     // of the command line
	Losses   []store.Loss // of all answers
}

// failed reports whether this program failed on an archive, so that the answer covers only the
// others.
func (s *session) failed() bool {
	return slices.ContainsFunc(s.Losses, func(l store.Loss) bool { return l.Kind == fault.Bug })
}

// likelyPath returns the path on the command line that was probably meant as an archive, though
// the command takes it for something else.
func (s *session) likelyPath() string {
	for _, w := range s.Words {
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
func (s *session) Load(args []string) error {
	paths, err := s.Locate(args)
	if err != nil {
		return err
	}
	r, err := s.Open(paths...)
	if fault.Of(err) == fault.Denied {
		denied := &fault.Error{Path: strings.Join(paths, ", ")}
		errors.As(err, &denied)
		return &ask.Error{Kind: ask.Unreadable, Err: noPermission(denied.Path)}
	}
	if err != nil {
		return &ask.Error{Kind: ask.Unreadable, Err: err}
	}
	s.Archive, s.Close, s.Paths, s.ArgPaths = r, r.Close, paths, len(args)
	s.recorded = s.recordedZone
	return nil
}

// archivePaths returns the paths to open, all of which exist: those of --archive and those given
// as plain arguments or, without any, the recorder's own.
func (s *session) Locate(args []string) ([]string, error) {
	paths := append(append([]string{}, s.Sources...), args...)
	if len(paths) == 0 {
		dir := config.ReadArchiveDir()
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no archive at %s, where recorder keeps them by default; name one with --archive %s", dir, s.likelyPath())
		}
		paths = []string{dir}
	}
	for _, p := range paths {
		if _, err := layout.Stat(p); errors.Is(err, os.ErrPermission) {
			return nil, &ask.Error{Kind: ask.Unreadable, Err: noPermission(p)}
		} else if err != nil {
			return nil, &ask.Error{Kind: ask.Unreadable, Err: fmt.Errorf("cannot read %s: %w", p, errors.Unwrap(err))}
		}
	}
	return paths, nil
}

// noPermission is the error for archives that may not be read. It says what to do about it.
func noPermission(path string) error {
	return fmt.Errorf("no permission to read %s: run the same with sudo, or as a member of the group that may read the archives (archive.group in the recorder's configuration)", path)
}

// instant parses a time given by the flag called name.
func (s *session) Instant(name, text string) (int64, error) {
	t, err := s.Reference().Parse(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", name, err)
	}
	s.Resolved[name] = t.In(s.Zone()).Format(time.RFC3339Nano)
	return t.UnixNano(), nil
}

// window resolves --host, --from and --to.
func (s *session) Window() (query.Window, error) {
	w := query.Window{}
	var err error
	if w.Hosts, err = s.HostIDs(); err != nil {
		return w, err
	}
	s.Used.Hosts, s.location = w.Hosts, nil
	if len(s.Derived) > 0 {
		// A mistake in them is an error even if the question does not use them.
		if _, err := s.Definitions(); err != nil {
			return w, err
		}
	}
	if s.From != "" {
		if w.From, err = s.Instant("from", s.From); err != nil {
			return w, err
		}
	}
	if s.To != "" {
		text := s.To
		if strings.HasPrefix(text, "+") && s.From != "" {
			d, err := when.Offset(text)
			if err != nil {
				return w, fmt.Errorf("--to: %w", err)
			}
			text = time.Unix(0, w.From).Add(d).Format(time.RFC3339Nano)
		}
		if w.To, err = s.Instant("to", text); err != nil {
			return w, err
		}
	}
	if w.To != 0 && w.To < w.From {
		return w, fmt.Errorf("--from %s is after --to %s", s.Show(w.From), s.Show(w.To))
	}
	from, _, list := query.Covered(s.Archive, w)
	if len(list) == 0 {
		s.Used = w
		return w, s.Empty(w)
	}
	if w.From == 0 && slices.ContainsFunc(list, func(in *store.ArchiveInfo) bool { return in.From < from }) {
		w.From = from // what a part of other archives holds from before its window does not count
	}
	s.Used = w
	return w, nil
}

// emptyWindow is the error for a window that holds nothing. It says what the archive covers
// instead.
func (s *session) Empty(w query.Window) error {
	from, to, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	if to == 0 {
		return &ask.Error{Kind: ask.Unreadable, Err: fmt.Errorf("the archive holds nothing yet")}
	}
	asked := "after " + s.Show(w.From)
	switch {
	case w.From == 0:
		asked = "until " + s.Show(w.To)
	case w.To != 0:
		asked = "from " + s.Show(w.From) + " to " + s.Show(w.To)
	}
	return &ask.Error{Kind: ask.Outside, Err: fmt.Errorf("nothing was recorded %s: the archive covers %s to %s", asked, s.Show(from), s.Show(to))}
}

// hostIDs resolves --host patterns to the IDs of hosts.
func (s *session) HostIDs() ([]string, error) {
	if len(s.Hosts) == 0 {
		return nil, nil
	}
	var ids, names []string
	for _, text := range s.Hosts {
		p, err := query.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		found := false
		for _, h := range s.Archive.Hosts() {
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
func (s *session) ManyHosts() bool {
	n := 0
	for _, h := range s.Archive.Hosts() {
		if s.Used.Wants(h.ID) {
			n++
		}
	}
	return n > 1
}
