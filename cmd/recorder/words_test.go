package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/launchd"
)

func TestLastError(t *testing.T) {
	const began = `time=2026-11-20T12:00:00.000Z level=INFO msg=recording archives=/a configuration=/c pid=7` + "\n"
	for _, tc := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"it could not begin", "recorder: note: a trial\nrecorder: /c:3: no key\n", "/c:3: no key"},
		{"it broke", began + "panic: index out of range\n\ngoroutine 1 [running]:\n", "panic: index out of range"},
		{"text", began + `time=2026-11-20T12:00:01.000Z level=ERROR msg="no \"room\"" error="disk full"` + "\n" + `time=x level=INFO msg="stopped"`, `no "room" error="disk full"`},
		{"json", `{"time":"x","level":"ERROR","msg":"no room","error":"disk full"}`, "no room: disk full"},
		{"of an earlier run", "recorder: /c:3: no key\n" + began, ""},
		{"of an earlier run, json", "recorder: no\n" + `{"level":"INFO","msg":"recording","pid":7}` + "\n", ""},
		{"systemd cannot run it", "tachograph.service: Failed at step EXEC spawning /x: Permission denied\ntachograph.service: Main process exited, code=exited, status=203/EXEC\n",
			"tachograph.service: Failed at step EXEC spawning /x: Permission denied"},
		{"half a line", "level=ERROR\n{\"level\n msg=\"\n", ""},
	} {
		if got := lastError(tc.log); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// What was in the log before is not what the service complains of now, unless
// the log was begun anew meanwhile.
func TestListenHearsOnlyWhatIsNew(t *testing.T) {
	h := host{root: t.TempDir(), layout: launchd.Layout{Log: "/log"}}
	log := filepath.Join(h.root, "log")
	write := func(text string) {
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("recorder: old\n")
	w := h.listen()
	if got := lastError(w.text()); got != "" {
		t.Errorf("heard %q", got)
	}
	write("recorder: old\nrecorder: new\n")
	if got := lastError(w.text()); got != "new" {
		t.Errorf("heard %q", got)
	}
	write("recorder: a\n")
	if got := lastError(w.text()); got != "a" {
		t.Errorf("of a new log: heard %q", got)
	}
	if got := h.lastWords(time.Time{}); got != "a" {
		t.Errorf("last words %q", got)
	}
}

func FuzzLastError(f *testing.F) {
	f.Add(`level=ERROR msg="a" b`)
	f.Add(`{"level":"ERROR"}`)
	f.Fuzz(func(t *testing.T, log string) {
		if got := lastError(log); len(got) > maxErrorLine+3 {
			t.Errorf("%d bytes", len(got))
		}
	})
}
