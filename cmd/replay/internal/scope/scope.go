// Package scope resolves what a question is about: the archives, the hosts, the window and the
// zone, from the words that people and programs use for them.
package scope

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/config"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/query"
)

// A Reader is an open archive or timeline of archives.
type Reader interface {
	query.Archive
	Losses() []store.Loss
	Refresh() error
	Close() error
}

// A Scope is what a question is about, and how the words for it were understood.
type Scope struct {
	*Clock
	// Open opens archives.
	Open func(paths ...string) (Reader, error)
	// OwnDefinitions returns the path of the user's file of derived metrics, "" for none. It may
	// be nil.
	OwnDefinitions func() string

	// Given, if set, is what is asked, whatever the words are: they come from a client of a
	// server, and can name no files.
	Given *Given

	// Flags.
	Sources  []string // archives
	Hosts    []string // patterns
	From, To string
	Derived  []string

	Archive  Reader
	Close    func() error
	Paths    []string
	ArgPaths int               // how many of Paths are arguments
	Resolved map[string]string // absolute times, by flag
	Used     query.Window
	Words    []string     // of the command line
	Losses   []store.Loss // of all answers
}

// Given is what a server lets its clients ask.
type Given struct {
	Archives []string
	Derived  []string // files of derived metrics
	// Name is how the client names the server.
	Name string
}

// errGiven refuses a file on the command line of a client.
var errGiven = errors.New("the server decides which files are asked: leave --archive, --derived and names of files out, or ask them here, without --from-server")

// New returns a Scope without archives.
func New(c *Clock, open func(paths ...string) (Reader, error), ownDefinitions func() string) *Scope {
	return &Scope{Clock: c, Open: open, OwnDefinitions: ownDefinitions, Resolved: make(map[string]string)}
}

// likelyPath returns the path on the command line that was probably meant as an archive, though
// the command takes it for something else.
func (s *Scope) likelyPath() string {
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

// Load opens the archives: those of --archive, those given as plain arguments,
// or the recorder's own.
func (s *Scope) Load(args []string) error {
	paths, err := s.Locate(args)
	if err != nil {
		return err
	}
	r, err := s.Open(paths...)
	if fault.Of(err) == fault.Denied {
		denied := &fault.Error{Path: strings.Join(paths, ", ")}
		errors.As(err, &denied)
		return &Error{Kind: Unreadable, Err: NoPermission(denied.Path)}
	}
	if err != nil {
		return &Error{Kind: Unreadable, Err: err}
	}
	s.Archive, s.Close, s.Paths, s.ArgPaths = r, r.Close, paths, len(args)
	s.recorded = s.recordedZone
	return nil
}

// None is the error for paths without any archive; nil if there is one.
func (s *Scope) None() error {
	if len(s.Archive.Archives()) > 0 {
		return nil
	}
	return &Error{Kind: Unreadable, Err: fmt.Errorf("no archive in %s", strings.Join(s.Paths, ", "))}
}

// Locate returns the paths to open, all of which exist: those of --archive and those given
// as plain arguments or, without any, the recorder's own.
func (s *Scope) Locate(args []string) ([]string, error) {
	if s.Given != nil {
		if len(s.Sources)+len(args) > 0 {
			return nil, errGiven
		}
		return s.Given.Archives, nil
	}
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
			return nil, &Error{Kind: Unreadable, Err: NoPermission(p)}
		} else if err != nil {
			return nil, &Error{Kind: Unreadable, Err: fmt.Errorf("cannot read %s: %w", p, errors.Unwrap(err))}
		}
	}
	return paths, nil
}

// Definitions reads the files of derived metrics: those that were named, or else the user's own
// if there is one.
func (s *Scope) Definitions() (*query.Definitions, error) {
	files := s.Derived
	if s.Given != nil {
		if len(files) > 0 {
			return nil, errGiven
		}
		files = s.Given.Derived
	}
	if len(files) == 0 && s.OwnDefinitions != nil {
		if own := s.OwnDefinitions(); own != "" {
			files = []string{own}
		}
	}
	defs := &query.Definitions{}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("derived metrics: %w", err)
		}
		err = defs.ReadDefinitions(f, path)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return defs, nil
}
