package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"tachograph/config/trust"
)

// logFile is a log that another program may rename: logFile then continues in a new file under
// the old name.
type logFile struct {
	path string

	mu     sync.Mutex
	f      *os.File
	looked time.Time
}

// lookAtLog is how often to check whether the file still has that name.
const lookAtLog = time.Second

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path, looked: time.Now()}
	var err error
	if l.f, err = appendTo(path); err != nil {
		return nil, fmt.Errorf("the log cannot be written: %w", err)
	}
	return l, nil
}

// appendTo opens the log. Root writes only where no other user could have placed a file or
// link.
func appendTo(path string) (*os.File, error) {
	return trust.Running(os.Geteuid()).Append(path, 0o640)
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.looked) >= lookAtLog {
		l.looked = now
		l.follow()
	}
	return l.f.Write(p)
}

// follow opens a new file if the log was renamed or removed. If that fails, it keeps the old
// file, which is better than none.
func (l *logFile) follow() {
	mine, err := l.f.Stat()
	if err != nil {
		return
	}
	if named, err := os.Lstat(l.path); err == nil && os.SameFile(mine, named) {
		return
	}
	if f, err := appendTo(l.path); err == nil {
		l.f.Close()
		l.f = f
	}
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

func newLog(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
