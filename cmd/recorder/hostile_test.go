package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/service"
	"tachograph/cmd/recorder/trigger"
	"tachograph/sample/metric"
	"tachograph/sample/probe"
)

// What a stranger calls a process or a directory is only shown.
func TestNamesDoNothing(t *testing.T) {
	const attack = "x\x1b]52;c;ZXZpbA==\x07\n\t\r\u009b31m\u202eexe\U000e0001\xff"
	for name, print := range map[string]func(a *app){
		"probe": func(a *app) {
			lines := []probe.Line{{Metric: "filesys.full", Instance: attack, Value: metric.Value{Type: metric.String, Str: attack}}}
			if err := printLines(a.out, lines, 0); err != nil {
				t.Fatal(err)
			}
		},
		"status": func(a *app) {
			r := service.Report{Problems: []string{attack}}
			r.Status.Archive.Path, r.Status.Notices = attack, []string{attack}
			r.Status.Sources = []service.SourceStatus{{Source: attack}}
			r.Status.Classes = []service.ClassStatus{{Class: attack}}
			r.Status.Triggers = []trigger.Status{{Name: attack, Last: attack, Wait: attack, Fired: make([]time.Time, 1)}}
			a.out.Write([]byte(statusText(&r, 0)))
		},
		"text log": func(a *app) { newLog(a.err, "text", slog.LevelInfo).Info("found "+attack, "path", attack, attack, 1) },
		"json log": func(a *app) { newLog(a.err, "json", slog.LevelInfo).Info("found "+attack, "path", attack, attack, 1) },
		"error":    func(a *app) { a.run([]string{"run", "--config", "/nowhere/" + attack}) },
		"argument": func(a *app) { a.run([]string{"probe", attack}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			a := newApp(&b, &b)
			print(a)
			got := b.String()
			if !strings.Contains(got, "52;c") {
				t.Errorf("it does not show the name: %q", got)
			}
			if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && visible.Acts(r) }) || strings.ToValidUTF8(got, "") != got {
				t.Errorf("more than text: %q", got)
			}
			if name == "json log" && !json.Valid([]byte(got)) {
				t.Errorf("no json: %s", got)
			}
		})
	}
}
