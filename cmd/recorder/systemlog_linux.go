package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

// serviceLog returns the log of a service: entries of the journal if that reads what is written
// to standard error, log otherwise.
func serviceLog(log *slog.Logger, to io.Writer, format string, level slog.Leveler) *slog.Logger {
	var stderr unix.Stat_t
	if format != "text" || unix.Fstat(int(os.Stderr.Fd()), &stderr) != nil ||
		os.Getenv("JOURNAL_STREAM") != fmt.Sprintf("%d:%d", stderr.Dev, stderr.Ino) {
		return log
	}
	return slog.New(&systemLog{level: level, write: journalEntries(to)})
}
