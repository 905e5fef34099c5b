package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
)

// systemLog is a handler for the log of the system itself, which gives each entry a time, a
// program and a priority: the text has neither time nor level. write takes the priority of
// syslog(3) and one entry.
type systemLog struct {
	level slog.Leveler
	write func(priority int, entry []byte) error
	// with repeats the calls of WithAttrs and WithGroup on the handler that formats.
	with []func(slog.Handler) slog.Handler
}

// priority returns the priority of syslog(3) for a level. The systems keep information only from
// "notice" on.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 5
	}
	return 7
}

func (h *systemLog) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *systemLog) Handle(ctx context.Context, r slog.Record) error {
	to := entryWriter{h.write, priority(r.Level)}
	var text slog.Handler = slog.NewTextHandler(to, &slog.HandlerOptions{Level: h.level, ReplaceAttr: withoutTimeAndLevel})
	for _, with := range h.with {
		text = with(text)
	}
	return text.Handle(ctx, r)
}

func (h *systemLog) add(with func(slog.Handler) slog.Handler) *systemLog {
	return &systemLog{level: h.level, write: h.write, with: append(slices.Clip(h.with), with)}
}

func (h *systemLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.add(func(t slog.Handler) slog.Handler { return t.WithAttrs(attrs) })
}

func (h *systemLog) WithGroup(name string) slog.Handler {
	return h.add(func(t slog.Handler) slog.Handler { return t.WithGroup(name) })
}

func withoutTimeAndLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// entryWriter is the log of the system for entries of one priority.
type entryWriter struct {
	write    func(priority int, entry []byte) error
	priority int
}

func (w entryWriter) Write(p []byte) (int, error) { return len(p), w.write(w.priority, p) }

// journalEntries writes entries for systemd's journal, which takes the priority from "<N>" before
// a line.
func journalEntries(to io.Writer) func(priority int, entry []byte) error {
	return func(priority int, entry []byte) error {
		_, err := to.Write(append(append(strconv.AppendInt([]byte{'<'}, int64(priority), 10), '>'), entry...))
		return err
	}
}

// both is a handler that passes records to two others.
type both struct{ a, b slog.Handler }

func (h both) Enabled(ctx context.Context, l slog.Level) bool {
	return h.a.Enabled(ctx, l) || h.b.Enabled(ctx, l)
}

func (h both) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, to := range []slog.Handler{h.a, h.b} {
		if to.Enabled(ctx, r.Level) {
			errs = append(errs, to.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

func (h both) WithAttrs(attrs []slog.Attr) slog.Handler {
	return both{h.a.WithAttrs(attrs), h.b.WithAttrs(attrs)}
}

func (h both) WithGroup(name string) slog.Handler {
	return both{h.a.WithGroup(name), h.b.WithGroup(name)}
}
