package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// The journal keeps the time and the priority of a line itself: a line has neither.
func TestJournalLines(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(&systemLog{level: slog.LevelInfo, write: journalEntries(&b)})
	log.Debug("not at this level")
	log.Info("started", "archives", "/var/lib/x")
	log.With("host", "a b").WithGroup("g").Warn("late", "by", 3)
	log.Error("broken", "error", errors.New("no room"))
	want := "<5>msg=started archives=/var/lib/x\n<4>msg=late host=\"a b\" g.by=3\n<3>msg=broken error=\"no room\"\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// What is written to both logs is in both, each at its own level.
func TestBothLogs(t *testing.T) {
	var file, system bytes.Buffer
	log := slog.New(both{newLog(&file, "text", slog.LevelDebug).Handler(), &systemLog{level: slog.LevelWarn, write: journalEntries(&system)}})
	log.Debug("small")
	log.With("a", 1).Warn("large")
	if n := strings.Count(file.String(), "\n"); n != 2 || !strings.Contains(file.String(), "level=WARN msg=large a=1") {
		t.Errorf("the file has %q", file.String())
	}
	if system.String() != "<4>msg=large a=1\n" {
		t.Errorf("the system has %q", system.String())
	}
}

// A program that writes to a terminal, or whose environment is that of a service but whose output
// is not, writes its log as ever.
func TestOnlyServicesWriteForTheJournal(t *testing.T) {
	t.Setenv("JOURNAL_STREAM", "1:2")
	var b bytes.Buffer
	log := newLog(&b, "text", slog.LevelInfo)
	if os.Getppid() == 1 {
		t.Log("this test's parent is the first process of the machine")
	} else if serviceLog(log, &b, "text", slog.LevelInfo) != log {
		t.Error("a program that is no service writes for the journal")
	}
}
