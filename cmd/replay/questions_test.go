package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tachograph/cmd/replay/internal/serve/ask"
)

// noQuestions are the commands that QueryService does not answer, with the reason.
var noQuestions = map[string]string{
	"browse":      "it draws on a terminal",
	"report":      "it writes a page for people",
	"snapshot":    "it writes an archive",
	"export":      "it writes a file, with its own formats",
	"import":      "it writes an archive",
	"repair":      "it writes an archive",
	"merge":       "it writes an archive",
	"split":       "it writes archives",
	"reduce":      "it changes archives",
	"serve":       "it is the service",
	"mcp":         "it is another service of the same questions",
	"push":        "it sends what is recorded to a receiver",
	"version":     "server reflection and health say who answers",
	"man":         "it is about the program",
	"expressions": "it is a text of the help",
	"exit-status": "it is a text of the help",
	"completion":  "it is for shells",
	"help":        "it is a text of the help",
}

// noFields are the flags that no field of a question has, with the reason.
var noFields = map[string]string{
	"help": "it is a text of the help",
	// Of all commands.
	"archive":      "the server was given its archives",
	"derived":      "the server was given its definitions, and a client names no files",
	"format":       "the answer has the format of the service",
	"spreadsheet":  "it is of csv",
	"utc":          "times in answers are instants",
	"color":        "it is of terminals",
	"show-command": "it is for people",
	"from-server":  "it is of clients", "server-token-file": "it is of clients", "server-ca": "it is of clients",
	// Of some.
	"follow": "LiveService streams what is being recorded", "interval": "it is of --follow",
	"top for": "it is of --follow", "rates for": "it is of --follow", "values for": "it is of --follow", "events for": "it is of --follow",
	"columns":      "answers for programs have all columns",
	"rates raw":    "values is a question of its own",
	"stacks stats": "events of the kind stacks have the same as labels",
	"report":       "it is a text as long as a file, and no row",
	"output":       "a client names no files", "force": "a client names no files", "symbols": "a client names no files", "debuginfod": "a server asks no others for its clients",
	"height": "it is of charts in a terminal", "size": "it is of pictures", "png": "it is of pictures", "dark": "it is of pictures",
}

// Programs can ask whatever people can: each command is a question of QueryService, and each of
// its flags a field of the question, or a reason stands above.
func TestProgramsCanAskAll(t *testing.T) {
	t.Parallel()
	root := newApp(io.Discard, io.Discard, testClock).command()
	root.InitDefaultHelpCmd()
	questions := map[string]*ask.Question{}
	for _, q := range ask.Questions() {
		if questions[q.Command] != nil {
			t.Errorf("%s and %s are answered by the same command", q.Name, questions[q.Command].Name)
		}
		questions[q.Command] = q
	}
	asked := questions[""]
	delete(questions, "")
	if asked == nil || asked.Operands || len(asked.Flags) > 0 {
		t.Errorf("the overview has no operands and flags of its own: %+v", asked)
	}
	used := map[string]bool{"help": true}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if used[f.Name] = true; noFields[f.Name] == "" && !slices.Contains([]string{"host", "from", "to", "tz"}, f.Name) {
			t.Errorf("QueryRequest has no field for --%s", f.Name)
		}
	})
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		q := questions[name]
		delete(questions, name)
		if used[name] = true; (q == nil) == (noQuestions[name] == "") {
			t.Errorf("%s: either QueryRequest has a field for it, or there is a reason", name)
		}
		if q == nil {
			continue
		}
		if q.Operands != (strings.Contains(cmd.Use, " ") && !strings.Contains(cmd.Use, "ARCHIVE")) {
			t.Errorf("%s: its operands are %s", name, cmd.Use)
		}
		for _, flag := range q.Flags {
			if cmd.LocalNonPersistentFlags().Lookup(flag) == nil {
				t.Errorf("%s has no flag --%s, which is a field of %s", name, flag, q.Name)
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			why := noFields[name+" "+f.Name]
			if used[name+" "+f.Name] = true; why == "" {
				why = noFields[f.Name]
				used[f.Name] = true
			}
			if slices.Contains(q.Flags, f.Name) == (why != "") {
				t.Errorf("%s --%s: either %s has a field for it, or there is a reason", name, f.Name, q.Name)
			}
		})
	}
	for command, q := range questions {
		t.Errorf("%s: there is no command %s", q.Name, command)
	}
	for name := range noQuestions {
		if !used[name] {
			t.Errorf("there is no command %s", name)
		}
	}
	for name := range noFields {
		if !used[name] {
			t.Errorf("there is no flag %s", name)
		}
	}
}
