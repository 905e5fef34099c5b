package proof

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// A Log collects what a writer logs at Info and above.
type Log struct {
	mu    sync.Mutex
	lines []string
}

func (l *Log) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *Log) WithGroup(string) slog.Handler { return l }

func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Level.String()+" "+r.Message)
	return nil
}

func (l *Log) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
