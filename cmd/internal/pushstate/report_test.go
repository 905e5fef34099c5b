package pushstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What pushes have left is told of each, and what somebody else has put there is
// neither followed nor waited for.
func TestReports(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	write := func(name string, s State) {
		t.Helper()
		s.At = now
		if err := s.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("a.push", State{Target: "https://a.example/write", Follow: true, AckedWall: now.UnixNano(), Values: 12})
	write("b.push", State{Target: "https://b.example/write", Follow: true, AckedWall: now.Add(-90 * time.Second).UnixNano(), Values: 1, Rate: 100, Retries: 2, Failing: true, LastError: "503 \x1b[31mno"})
	write("c.push", State{Target: "https://c.example/write", Ended: true, Follow: true})
	for name, what := range map[string]string{"d.push": "{", "e.push": `{"version":99}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "f.push")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "g.push"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := Reports([]string{dir, "/no/such"}, now, now)
	var lines []string
	for i := range list {
		lines = append(lines, list[i].Words()+" | "+list[i].Trouble)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"https://a.example/write: up to date, 12 values acknowledged | ",
		"https://b.example/write: 1m30s behind, about 9000 values, 1 value acknowledged, 2 retries | 503",
		"https://c.example/write: nothing acknowledged yet, 0 values acknowledged, not running | it has ended",
		"d.push is damaged", "e.push is of another version",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if len(list) != 7 {
		t.Errorf("%d lines:\n%s", len(list), text)
	}
	silent := Reports([]string{dir}, now, now.Add(time.Hour))
	if silent[0].Running || !strings.Contains(silent[0].Trouble, "nothing was heard of it for 1h") {
		t.Errorf("%+v", silent[0])
	}
}
