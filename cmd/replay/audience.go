package main

import (
	"fmt"
	"os"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
)

// People read tables, and sentences around them; programs read csv, json and messages. What
// differs between the two is decided here.

// present shows an answer to people or to programs, whichever reads it.
func (p *page) present(people, programs func() error) error {
	if p.table() {
		return people()
	}
	return programs()
}

// noRows refuses a format for programs, for a command that has no rows. What says what it does,
// and what answers in that format.
func (p *page) noRows(what string) error {
	if p.table() {
		return nil
	}
	return fmt.Errorf("%s as %s", what, p.format)
}

// noTerminal refuses to write a file to standard output where that is a terminal.
func (p *page) noTerminal(dst, what string) error {
	if dst != "-" || p.width == 0 {
		return nil
	}
	return fmt.Errorf("-o - writes %s to standard output, which is a terminal here: send it into a file or a pipe", what)
}

// remark prints a sentence that only people need.
func (p *page) remark(text string) {
	if p.table() {
		p.complain(text)
	}
}

// brief reports whether to leave out what happens all the time: people who did not ask for it
// see how much there is of it.
func (p *page) brief(asked []string) bool { return p.table() && len(asked) == 0 }

// distrust says below an answer that values are distrusted, unless beside is set and the rows
// themselves say so, as those of JSON can.
func (p *page) distrust(text string, beside bool) {
	switch {
	case p.table():
		p.alarming(text)
	case p.format != string(out.JSON) || !beside:
		p.complain("replay: " + text)
	}
}

// showsCommand reports whether an answer ends with the command that gives it again: if that was
// asked for, and to people also if always is set.
func (p *page) showsCommand(always bool) bool { return p.showCommand || always && p.table() }

// beside is where to print what belongs to an answer and is not in its rows.
func (p *page) beside() *visible.Writer {
	if p.table() {
		return p.stdout
	}
	return p.stderr
}

// watched is the terminal on which people read the answer; nil if it goes elsewhere.
func (p *page) watched() *os.File {
	f, ok := p.stdout.Unwrap().(*os.File)
	if !ok || !p.table() || p.width == 0 {
		return nil
	}
	return f
}

// style sets colours and letters as the flags and the locale have them.
func (p *page) style() {
	if p.table() && !p.color {
		p.color = wantsColor(p.colorFlag, p.terminalOut, p.env)
	}
	p.stdout.Styles(p.color)
	if p.ascii && p.table() {
		p.stdout.ASCII()
		p.stderr.ASCII()
	}
}
