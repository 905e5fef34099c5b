package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"

	"tachograph/sample/darwin/sys"
)

// firstProcess is launchd, which starts services.
const firstProcess = 1

// serviceLog returns the log of a service: what launchd starts writes into the unified log as well
// as into its own.
func serviceLog(log *slog.Logger, _ io.Writer, _ string, level slog.Leveler) *slog.Logger {
	if os.Getppid() != firstProcess {
		return log
	}
	return slog.New(both{log.Handler(), &systemLog{level: level, write: func(priority int, entry []byte) error {
		sys.Syslog(priority, string(bytes.TrimRight(entry, "\n")))
		return nil
	}}})
}
