// Package manual writes the manual pages and the help of both programs.
package manual

import (
	_ "embed"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tachograph/cmd/internal/cli"
	"tachograph/sample"
)

// Expressions describes expressions, as replay help expressions prints it.
//
//go:embed expressions.txt
var Expressions string

// Page is one manual page.
type Page struct {
	Name    string // without the section
	Section int
	Text    string // in the format of man
}

// File returns the name of the page's file.
func (p Page) File() string { return fmt.Sprintf("%s.%d", p.Name, p.Section) }

// Write writes pages to a directory.
func Write(dir string, pages []Page) error {
	err := os.MkdirAll(dir, 0o755)
	for _, p := range pages {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.File()), []byte(p.Text), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("the manual pages cannot be written: %w", err)
	}
	return nil
}

// Commands yields a command and all commands below it.
func Commands(c *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) { each(c, yield) }
}

func each(c *cobra.Command, yield func(*cobra.Command) bool) bool {
	if !yield(c) {
		return false
	}
	for _, below := range c.Commands() {
		if !each(below, yield) {
			return false
		}
	}
	return true
}

// useLine returns how c is called. UseLine knows of a command's flags only after they were listed.
func useLine(c *cobra.Command) string {
	c.LocalFlags()
	return c.UseLine()
}

// OfProgram returns the page of a program: all its commands, with their flags and examples.
func OfProgram(root *cobra.Command, files ...string) Page {
	w := newWriter(root.Name(), 1)
	w.section("NAME")
	w.line(root.Name() + ` \- ` + escape(strings.ToLower(root.Short[:1])+root.Short[1:]))
	w.section("SYNOPSIS")
	w.bold(useLine(root))
	w.line(".br")
	w.bold(root.Name() + " COMMAND [ARGUMENT...] [FLAG...]")
	w.section("DESCRIPTION")
	w.paragraphs(root.Long)
	w.section("FLAGS OF EVERY COMMAND")
	w.flags(root.PersistentFlags())
	w.section("COMMANDS")
	for c := range Commands(root) {
		if c == root || c.Hidden || !c.Runnable() || c.Name() == "help" {
			continue
		}
		w.line(".SS " + quote(strings.TrimPrefix(useLine(c), root.Name()+" ")))
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		w.paragraphs(text)
		w.flags(c.LocalNonPersistentFlags())
		if c.Example != "" {
			w.line(".PP\nExamples:")
			w.verbatim(c.Example)
		}
	}
	w.section("EXIT STATUS")
	w.verbatim(cli.StatusText())
	w.section("SEE ALSO")
	w.line(strings.Join(files, ", "))
	return Page{root.Name(), 1, w.b.String()}
}

// OfExpressions returns the page about expressions.
func OfExpressions() Page {
	return OfText("tachograph-expressions", 7, "what replay computes with", Expressions)
}

// OfText returns a page with a preformatted text.
func OfText(name string, section int, title, text string) Page {
	w := newWriter(name, section)
	w.section("NAME")
	w.line(name + ` \- ` + escape(title))
	w.section("DESCRIPTION")
	w.verbatim(text)
	return Page{name, section, w.b.String()}
}

// OfMarkdown returns a page from a text with headings, paragraphs, lists, tables and blocks of
// code, like the descriptions of the formats.
func OfMarkdown(name string, section int, title, text string) Page {
	w := newWriter(name, section)
	w.section("NAME")
	w.line(name + ` \- ` + escape(title))
	w.markdown(text)
	return Page{name, section, w.b.String()}
}

type writer struct{ b strings.Builder }

func newWriter(name string, section int) *writer {
	w := &writer{}
	w.line(fmt.Sprintf(".TH %s %d \"\" %s %s", quote(strings.ToUpper(name)), section, quote("Tachograph "+sample.Release), quote("Tachograph")))
	w.line(".nh\n.ad l")
	return w
}

func (w *writer) line(s string) { w.b.WriteString(s + "\n") }

func (w *writer) section(title string) { w.line(".SH " + quote(title)) }

func (w *writer) bold(s string) { w.line(".B " + quote(s)) }

// paragraphs writes a help text; indented lines stay as they are.
func (w *writer) paragraphs(text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			w.line(".PP")
		}
		if strings.HasPrefix(p, "  ") {
			w.verbatim(p)
			continue
		}
		for line := range strings.Lines(p) {
			w.line(escape(strings.TrimSpace(line)))
		}
	}
}

func (w *writer) verbatim(text string) {
	w.line(".RS 0\n.nf")
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		w.line(escape(line))
	}
	w.line(".fi\n.RE")
}

func (w *writer) flags(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		w.line(".TP")
		w.bold(strings.TrimSpace(head + " " + kind))
		w.line(escape(usage))
	})
}

// markdown writes text in the subset of Markdown that the descriptions of the formats use.
func (w *writer) markdown(text string) {
	code, table := false, false
	for _, line := range strings.Split(text, "\n") {
		isTable := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ")
		if !code && isTable != table {
			table = isTable
			w.line(map[bool]string{true: ".PP\n.nf", false: ".fi"}[table])
		}
		switch heading := strings.TrimLeft(line, "#"); {
		case strings.HasPrefix(line, "```"):
			code = !code
			w.line(map[bool]string{true: ".PP\n.nf", false: ".fi"}[code])
		case code || table:
			w.line(escape(line))
		case heading != line && strings.HasPrefix(heading, " "):
			if len(line)-len(heading) <= 2 {
				w.section(strings.ToUpper(plain(strings.TrimSpace(heading))))
			} else {
				w.line(".SS " + quote(plain(strings.TrimSpace(heading))))
			}
		case strings.TrimSpace(line) == "":
			w.line(".PP")
		case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
			w.line(".IP \\(bu 2\n" + escape(plain(line[2:])))
		default:
			w.line(escape(plain(strings.TrimSpace(line))))
		}
	}
	if table || code {
		w.line(".fi")
	}
}

// plain removes the marks of emphasis, and replaces links by their text.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "**", ""), "`", "")
	for {
		open := strings.Index(s, "[")
		middle := strings.Index(s, "](")
		if open < 0 || middle < open {
			return s
		}
		end := strings.Index(s[middle:], ")")
		if end < 0 {
			return s
		}
		s = s[:open] + s[open+1:middle] + s[middle+end+1:]
	}
}

// escape escapes a line of text so that man shows it as it is.
func escape(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) >= 0 {
		var b strings.Builder
		for _, r := range s {
			if r < 0x80 {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\[u%04X]`, r)
			}
		}
		s = b.String()
	}
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// quote returns s as one argument of a macro.
func quote(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
