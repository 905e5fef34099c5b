package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/config/trust"
)

// Agent is the agent's name: in pmcd.conf, in the name space, among the agents.
const Agent = "tachograph"

// Site is a PCP into which the agent is put, or from which it is removed.
type Site struct {
	Paths Paths
	// Root is put before every path. With Stage, only files are changed there and pmcd is not
	// signalled: for packages and tests.
	Root  string
	Stage bool
	// EUID is the user who runs this, and Owners the users whose files it trusts.
	EUID   int
	Owners trust.Owners
	// Lines are the agents for pmcd.conf, Names their metrics.
	Lines []Line
	Names []Name
	// Replace lets them replace PCP's agents for macOS.
	Replace bool
	// Files are the agent's own files, by their paths.
	Files []File
	// Start starts what the files describe, before pmcd is signalled; nil: nothing.
	Start func() error
	// Tell makes pmcd read its configuration again. It gets the paths, and whether a running
	// agent was ended so that it starts again, and returns what to print about it; nil: pmcd is
	// not signalled.
	Tell func(p Paths, ended bool) (string, error)
	// Say prints a line about what was done.
	Say func(format string, args ...any)
}

// File is a file that is only ours.
type File struct {
	Path    string
	Mode    fs.FileMode
	Content []byte
}

func (s *Site) at(path string) string { return filepath.Join(s.Root, path) }

// safe checks that only trusted users can replace what root will write. Links below another
// root than the system's must not lead out of it.
func (s *Site) safe(path string) error {
	if s.Root != "" {
		root, err := filepath.EvalSymlinks(s.Root)
		if err != nil {
			return err
		}
		at := s.at(path)
		for {
			real, err := filepath.EvalSymlinks(at)
			if errors.Is(err, fs.ErrNotExist) && at != s.Root {
				at = filepath.Dir(at)
				continue
			}
			if err == nil && real != root && !strings.HasPrefix(real, strings.TrimSuffix(root, "/")+"/") {
				err = fmt.Errorf("%s leads out of %s", at, s.Root)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	if s.Stage || s.EUID != 0 {
		return nil
	}
	_, err := s.Owners.Resolve(s.at(path))
	return err
}

// plan is what to do.
type plan struct {
	edits []Edit
	// told says that something changes that pmcd reads.
	told bool
	// again says that there was an installation before.
	again bool
	// dirs are the directories to remove if they are empty.
	dirs []string
}

// Install puts the agent in place. With dry set it only prints what that would change.
func (s *Site) Install(dry bool) error {
	return s.do(s.install, dry, "is installed already: nothing to change")
}

// Remove removes the agent.
func (s *Site) Remove(dry bool) error {
	return s.do(s.remove, dry, "is not installed: nothing to remove")
}

func (s *Site) do(work func() (*plan, error), dry bool, nothing string) error {
	if dry {
		p, err := planned(work)
		if err == nil {
			s.show(p, nothing)
		}
		return err
	}
	if s.EUID != 0 && !s.Stage {
		return errors.New("PCP's configuration can be changed only by root: use sudo (--dry-run shows what would change)")
	}
	p, err := s.change(work)
	if err != nil {
		return err
	}
	if len(p.edits) == 0 && p.again && s.Tell != nil && outdated(s.Lines) {
		s.Say("the agent that runs is of a program that was replaced: pmcd starts it anew")
		p.told = true
	} else if len(p.edits) == 0 {
		s.Say("the agent %s", nothing)
		return nil
	}
	for _, e := range p.edits {
		s.Say("%s %s", did(e), s.at(e.Path))
	}
	if s.Start != nil {
		if err := s.Start(); err != nil {
			return err
		}
	}
	if s.Tell == nil || !p.told {
		return nil
	}
	// A running agent does not know what is new, and pmcd does not restart an agent whose line
	// has not changed.
	said, err := s.Tell(s.Paths, p.again && endAgents(s.Lines))
	if said != "" {
		s.Say("%s", said)
	}
	return err
}

// planned returns the edits of a plan that change something.
func planned(work func() (*plan, error)) (*plan, error) {
	p, err := work()
	if err == nil {
		p.edits = slices.DeleteFunc(p.edits, Edit.none)
	}
	return p, err
}

// change works out a plan and carries it out, while PCP's scripts are locked out. An interrupt
// waits until it is complete: these are only some files.
func (s *Site) change(work func() (*plan, error)) (*plan, error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := planned(work)
	if err != nil {
		return nil, err
	}
	err = s.carryOut(p.edits)
	for _, dir := range p.dirs {
		os.Remove(s.at(dir)) // Fails if it is not empty.
	}
	return p, err
}

func did(e Edit) string {
	switch {
	case e.Was == nil:
		return "wrote"
	case e.Is == nil:
		return "removed"
	}
	return "changed"
}

// others returns the files of PCP that have a part of ours.
func (s *Site) others() (conf, names []byte, err error) {
	if conf, err = read(s.at(s.Paths.PMCD), maxConf); err == nil && conf == nil {
		err = fmt.Errorf("%s is missing, where pmcd's agents are to be (%s says so)", s.at(s.Paths.PMCD), s.Paths.Conf)
	}
	if err == nil {
		names, err = read(s.at(s.Paths.Names()), maxNames)
	}
	return conf, names, err
}

func (s *Site) install() (*plan, error) {
	old, err := s.record()
	if err != nil {
		return nil, err
	}
	confNow, namesNow, err := s.others()
	if err != nil {
		return nil, err
	}
	r := &Record{Before: make(map[string]Before)}
	confWas, namesWas, err := s.bases(old, confNow, namesNow)
	if err != nil {
		return nil, err
	}
	confIs, swaps, err := addLines(confWas, s.Lines, s.Replace, s.Paths.PMCD)
	if err != nil {
		return nil, err
	}
	r.Lines = swaps
	r.Before[s.Paths.PMCD] = Before{Content: confWas, Left: sum(confIs)}
	// A PCP that was never started has no name space yet: it makes one then, with our names.
	namesIs := namesNow
	if namesWas != nil {
		if namesIs, r.Names, err = addNames(namesWas, s.Names, s.Paths.Names()); err != nil {
			return nil, err
		}
		r.Before[s.Paths.Names()] = Before{Content: namesWas, Left: sum(namesIs)}
	}
	p := &plan{again: old != nil}
	if old != nil {
		r.Dirs = old.Dirs
	}
	files := append(slices.Clone(s.Files), File{Path: s.Paths.ownNames(), Mode: 0o644, Content: namesText(s.Names)})
	for _, f := range files {
		r.Made = append(r.Made, f.Path)
		for _, dir := range s.missing(f.Path) {
			if !slices.Contains(r.Dirs, dir) {
				r.Dirs = append(r.Dirs, dir)
			}
		}
		now, err := read(s.at(f.Path), maxNames)
		if err != nil {
			return nil, err
		}
		p.edits = append(p.edits, Edit{Path: f.Path, Was: now, Is: f.Content, Mode: f.Mode})
	}
	if old != nil {
		for _, path := range old.Made {
			if !slices.Contains(r.Made, path) {
				if err := p.remove(s, path); err != nil {
					return nil, err
				}
			}
		}
	}
	// Deeper ones first: they are removed in this order.
	slices.SortFunc(r.Dirs, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	p.dirs = r.Dirs
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return nil, err
	}
	recordNow, err := read(s.at(s.Paths.record()), maxNames)
	if err != nil {
		return nil, err
	}
	// The record comes before what it describes: wherever this stops, it can be undone.
	p.edits = append(p.edits,
		Edit{Path: s.Paths.record(), Was: recordNow, Is: append(text, '\n'), Mode: 0o644},
		Edit{Path: s.Paths.Names(), Was: namesNow, Is: namesIs, Mode: 0o644},
		Edit{Path: s.Paths.PMCD, Was: confNow, Is: confIs, Mode: 0o644})
	p.told = !bytes.Equal(namesNow, namesIs) || !bytes.Equal(confNow, confIs)
	return p, nil
}

// bases returns pmcd.conf and the name space as they would be without us.
func (s *Site) bases(r *Record, conf, names []byte) (confWas, namesWas []byte, err error) {
	confWas, err = r.base(s.Paths.PMCD, conf, func(now []byte) ([]byte, error) { return takeLines(now, r.Lines), nil })
	if err == nil {
		namesWas, err = r.base(s.Paths.Names(), names, func(now []byte) ([]byte, error) { return takeNames(now, r.Names) })
	}
	return confWas, namesWas, err
}

func (p *plan) remove(s *Site, path string) error {
	now, err := read(s.at(path), maxNames)
	if now != nil {
		p.edits = append(p.edits, Edit{Path: path, Was: now, Mode: 0o644})
	}
	return err
}

func (s *Site) remove() (*plan, error) {
	r, err := s.record()
	if err != nil {
		return nil, err
	}
	conf, names, err := s.others()
	if err != nil {
		return nil, err
	}
	if r == nil {
		if e := parseConf(conf).named(Agent); e != nil {
			return nil, &Clash{fmt.Sprintf("%s has the agent %s, but recorder pmda install did not put it there", s.Paths.PMCD, Agent), "run ./Remove in " + s.Paths.Dir()}
		}
		return &plan{}, nil
	}
	confWas, namesWas, err := s.bases(r, conf, names)
	if err != nil {
		return nil, err
	}
	p := &plan{dirs: r.Dirs, edits: []Edit{
		{Path: s.Paths.PMCD, Was: conf, Is: confWas, Mode: 0o644},
		{Path: s.Paths.Names(), Was: names, Is: namesWas, Mode: 0o644},
	}}
	p.told = !bytes.Equal(conf, confWas) || !bytes.Equal(names, namesWas)
	for _, path := range append(r.Made, byproducts(s.Paths)...) {
		if err := p.remove(s, path); err != nil {
			return nil, err
		}
	}
	return p, p.remove(s, s.Paths.record())
}

// byproducts are the files that PCP's Install leaves for an agent.
func byproducts(p Paths) []string {
	return []string{filepath.Join(p.Dir(), "help.dir"), filepath.Join(p.Dir(), "help.pag"), filepath.Join(p.Var, "pmns", Agent)}
}

// show prints what would be changed.
func (s *Site) show(p *plan, nothing string) {
	if len(p.edits) == 0 {
		s.Say("the agent %s", nothing)
	}
	for _, e := range p.edits {
		switch {
		case e.Is == nil:
			s.Say("would remove %s", s.at(e.Path))
		case e.Was == nil:
			s.Say("would write %s (%d bytes)", s.at(e.Path), len(e.Is))
		default:
			s.Say("would change %s:", s.at(e.Path))
			s.showLines(e)
		}
	}
	if p.told && s.Tell != nil {
		s.Say("would tell pmcd to read its configuration again")
	}
}

// mostShown is how many lines of a difference are shown.
const mostShown = 12

// showLines prints which lines would be added and removed. It ignores the order of common
// lines: nothing here moves any.
func (s *Site) showLines(e Edit) {
	count := make(map[string]int)
	for line := range strings.Lines(string(e.Was)) {
		count[line]++
	}
	var added []string
	for line := range strings.Lines(string(e.Is)) {
		if count[line]--; count[line] < 0 {
			added = append(added, line)
		}
	}
	var gone []string
	for line := range strings.Lines(string(e.Was)) {
		if count[line] > 0 {
			count[line]--
			gone = append(gone, line)
		}
	}
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"-", gone}, {"+", added}} {
		for i, line := range side.lines {
			if i == mostShown && len(side.lines) > mostShown+1 {
				s.Say("  %s ... and %d more lines", side.mark, len(side.lines)-i)
				break
			}
			s.Say("  %s %s", side.mark, strings.TrimRight(line, "\n"))
		}
	}
}

// Put returns a package's files with their paths in this PCP. It leaves out templates for
// programs that the PCP does not have.
func (s *Site) Put(p *Package) []File {
	var files []File
	for _, f := range p.Files() {
		f.Path = filepath.Join(s.Paths.Dir(), f.Path)
		files = append(files, f)
	}
	for _, f := range p.Templates() {
		kind, _, _ := strings.Cut(f.Path, "/")
		base := filepath.Join(s.Paths.Var, "config")
		if _, err := os.Stat(s.at(filepath.Join(base, kind))); err == nil {
			f.Path = filepath.Join(base, f.Path)
			files = append(files, f)
		}
	}
	return files
}

// Write writes a file at a path, and reports whether that changed anything.
func Write(path string, f File) (changed bool, err error) {
	now, err := read(path, maxNames)
	if err != nil {
		return false, err
	}
	if now != nil && bytes.Equal(now, f.Content) {
		return false, nil
	}
	if err := exchange(path, f.Content, f.Mode); err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, cli.Cause(err))
	}
	return true, nil
}
