package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tachograph/cmd/internal/visible"
	"tachograph/store/query"
)

// announce prints the command line, if that was asked for, at the start: following has no end at
// which to print it.
func (a *app) announce(cmd *cobra.Command, args []string) {
	if a.showCommand {
		for _, line := range a.footer(cmd, args) {
			a.stderr.Println(line)
		}
	}
}

// footer returns the command that gives an answer again, and the archives it was read from.
func (s *session) footer(cmd *cobra.Command, args []string) []string {
	var ids []string
	_, _, list := query.Covered(s.Archive, s.Used)
	for _, info := range list {
		ids = append(ids, info.ID)
	}
	more := ""
	if len(ids) > 3 {
		more = fmt.Sprintf(" and %d more", len(ids)-3)
		ids = ids[:3]
	}
	return []string{"# " + strings.Join(s.reproduce(cmd, args), " "), "# read from archive " + strings.Join(ids, ", ") + more}
}

// footerLines returns how many lines the footer takes, with the blank line above it.
func (a *app) footerLines(cmd *cobra.Command, args []string) int {
	n := 1
	for _, line := range a.footer(cmd, args) {
		n += a.linesOf(line)
	}
	return n
}

// ownWords are the flags that reproduce prints in its own way, or not at all because its
// arguments hold what they meant.
var ownWords = map[string]bool{
	"archive": true, "from": true, "to": true, "at": true, "show-command": true, "before": true, "after": true,
	"against": true, "across-update": true, "derived": true,
}

// endless are the commands to which the end of an archive means nothing, or
// whose arguments are instants.
var endless = map[string]bool{"at": true, "diff": true, "info": true, "metrics": true, "explain": true}

// reproduce returns the command line as words for a shell, with absolute times and paths.
func (s *session) reproduce(cmd *cobra.Command, args []string) []string {
	line := []string{cmd.CommandPath()}
	if s.ArgPaths > 0 {
		args = nil // They are archives, which are named below.
	}
	var dashed []string
	for i, word := range args {
		if strings.HasPrefix(word, "-") && !isNegative(word) {
			// They go behind the flags, where none is taken for a flag.
			args, dashed = args[:i], args[i:]
			break
		}
	}
	for _, word := range args {
		line = append(line, quote(word))
	}
	for _, f := range changed(cmd) {
		switch {
		case ownWords[f.name]:
		case f.value == "true" && f.switches:
			line = append(line, "--"+f.name)
		default:
			line = append(line, "--"+f.name+"="+quote(f.value))
		}
	}
	follow := cmd.Flags().Lookup("follow")
	if s.Resolved["at"] == "" && s.Resolved["to"] == "" && !endless[cmd.Name()] && (follow == nil || !follow.Changed) {
		s.pinEnd()
	}
	for _, name := range []string{"at", "against", "from", "to"} {
		if t := s.Resolved[name]; t != "" {
			line = append(line, "--"+name, quote(t))
		}
	}
	line = append(line, s.files()...)
	if len(dashed) > 0 {
		line = append(line, "--")
		for _, word := range dashed {
			line = append(line, quote(word))
		}
	}
	return line
}

// files returns the words that name what is asked.
func (s *session) files() (words []string) {
	if s.Given != nil {
		return []string{"--from-server", quote(s.Given.Name)}
	}
	for _, p := range s.Derived {
		words = append(words, "--derived", quote(absolute(p)))
	}
	for _, p := range s.Paths {
		words = append(words, "--archive", quote(absolute(p)))
	}
	return words
}

// commandLine returns the shell words of a command that runs args on the open archives, with the
// same hosts, derived metrics and zone.
func (s *session) commandLine(cmd *cobra.Command, args []string) []string {
	line := []string{cmd.Root().Name()}
	for _, word := range args {
		line = append(line, quote(word))
	}
	line = append(line, s.files()...)
	for _, h := range s.Hosts {
		line = append(line, "--host="+quote(h))
	}
	if s.UTC {
		line = append(line, "--utc")
	}
	if s.TZ != "" {
		line = append(line, "--tz="+quote(s.TZ))
	}
	return line
}

// pinEnd makes the present end of an archive that still grows the end of the window.
func (s *session) pinEnd() {
	_, end, list := query.Covered(s.Archive, query.Window{Hosts: s.Used.Hosts})
	for _, info := range list {
		if beingWritten(info, s.Now()) {
			s.Resolved["to"] = s.In(end).Format(time.RFC3339Nano)
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// setFlag is a flag that was given; a switch needs no value.
type setFlag struct {
	name, value string
	switches    bool
}

// changed lists the flags that were given.
func changed(cmd *cobra.Command) []setFlag {
	var out []setFlag
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				out = append(out, setFlag{name: f.Name, value: v})
			}
			return
		}
		out = append(out, setFlag{f.Name, f.Value.String(), f.NoOptDefVal != ""})
	})
	return out
}

// quote quotes s as one word for a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:,@%+=") == "" {
		return s
	}
	if visible.Text(s) != s {
		return quoteBytes(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteBytes quotes s as one word for a shell, in printable characters only.
func quoteBytes(s string) string {
	b := []byte("$'")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f:
			b = fmt.Appendf(b, `\%03o`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '\''))
}

// moreCommand returns a command on the same archives, as words for a shell. short is for people:
// times and paths are then as short as replay understands them here and now.
func (s *session) moreCommand(host string, args []string, short bool) string {
	words := []string{"replay"}
	for _, word := range args {
		if short {
			word = s.shortTime(word)
		}
		words = append(words, quote(word))
	}
	if len(s.Archive.Hosts()) > 1 {
		words = append(words, "--host", quote(host))
	}
	named := s.Paths
	if s.Given != nil {
		words, named = append(words, s.files()...), nil
	}
	if len(s.Sources) == 0 && s.ArgPaths == 0 {
		named = nil // The recorder's own need not be named.
	}
	for _, path := range named {
		if !short {
			path = absolute(path)
		}
		words = append(words, "--archive", quote(path))
	}
	switch {
	case s.UTC:
		words = append(words, "--utc")
	case s.TZ != "":
		words = append(words, "--tz", quote(s.TZ))
	}
	return strings.Join(words, " ")
}

// shortTime writes an absolute time as the time of day, if that means the same instant now.
func (s *session) shortTime(word string) string {
	at, err := time.Parse(time.RFC3339, word)
	if err != nil {
		return word
	}
	text := at.In(s.Zone()).Format(time.TimeOnly)
	if t, err := s.Reference().Parse(text); err != nil || !t.Equal(at) {
		return at.In(s.Zone()).Format("2006-01-02T15:04:05")
	}
	return text
}
