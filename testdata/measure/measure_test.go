package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// TestMain lets the test be what this program is to itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == timedCommand {
		if err := timed(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTables tries everything out that needs no root: it builds the programs,
// makes minutes instead of days and asks about them.
func TestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs")
	}
	t.Chdir("../..")
	commands := []string{"questions", "days", "size", "moments"}
	tables := []string{"machine", "questions", "journal", "streams", "days", "size", "moments"}
	if os.Getenv("TACHO_LONG") != "" { // Else TestShort of that command has to do.
		commands = append(commands, "conclusions")
		tables = append(tables, "conclusions tuned", "conclusions kept")
	}
	work := t.TempDir()
	made := trial(t, work, "", commands, tables)
	for _, dataset := range []string{"server", "month", "mac"} {
		t.Run(dataset, func(t *testing.T) {
			trial(t, work, dataset, []string{"questions", "size"}, []string{"machine " + dataset, "questions " + dataset, "size " + dataset})
		})
	}
	for _, path := range documents {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if after := refresh(string(page), made); after == string(page) {
			t.Errorf("%s has no place for any table", path)
		}
	}
}

// TestStacksTable tries out what sampling costs.
func TestStacksTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs")
	}
	if !root() {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("cc is not installed")
	}
	t.Chdir("../..")
	trial(t, t.TempDir(), "", []string{"stacks"}, []string{"stacks"})
}

// trial runs commands and returns the tables that they made, among them these.
func trial(t *testing.T, work, dataset string, commands, tables []string) map[string]string {
	m := &measure{work: work, short: true, runs: 1, days: 3, minutes: 1, tables: make(map[string]string)}
	err := m.run(dataset, commands)
	darwintest.Need(t, err)
	for _, name := range tables {
		if strings.Count(m.tables[name], "\n") < 3 {
			t.Errorf("table %s: %q", name, m.tables[name])
		}
	}
	return m.tables
}

func TestRefresh(t *testing.T) {
	page := "a\n<!-- table: size -->\nold\n<!-- end -->\nb\n<!-- table: live -->\nstays\n<!-- end -->\n"
	want := strings.Replace(page, "old", "new", 1)
	if got := refresh(page, map[string]string{"size": "new\n", "other": "x\n"}); got != want {
		t.Errorf("got %q", got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0394: "0.0394", 1.234: "1.23", 12.34: "12.3", 999.6: "1,000", 1234567: "1,234,567"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestHeaviest(t *testing.T) {
	report := "\n    40.50%  [.] tachograph/store/chunk.decode\n    20.00%  [k] 0xffffffff8101\n    12.00%  [k] clear_page\n     0.30%  [.] runtime.mallocgc\n"
	if got, want := heaviest(report, 8), "store/chunk.decode 40 %, the kernel 32 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPatienceEnds(t *testing.T) {
	got, err := takeTime([]string{"/bin/sh", "-c", "exec sleep 60"}, 50*time.Millisecond)
	if err != nil || !got.GaveUp {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = takeTime([]string{"/bin/sh", "-c", "echo a; echo b"}, time.Minute)
	if err != nil || got.GaveUp || got.Lines != 2 || got.Wall <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = takeTime([]string{"/bin/sh", "-c", "echo why >&2; exit 3"}, time.Minute); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("a command that fails: %v", err)
	}
}
