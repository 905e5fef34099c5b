package pcpserve

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// mostLines is how many log lines a minute clients can cause.
const mostLines = 60

// Sparing returns a log for events that any client can cause as often as it likes, just by
// connecting. Above mostLines in a minute, further events are only counted.
func Sparing(log *slog.Logger) *slog.Logger { return slog.New(&sparing{log.Handler(), new(spared)}) }

type sparing struct {
	slog.Handler
	*spared
}

// spared counts the lines of a minute that were logged, and those that were not.
type spared struct {
	mu         sync.Mutex
	since      time.Time
	said, kept int
}

// may reports whether a line may be logged now, and how many were suppressed before.
func (s *spared) may() (ok bool, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= time.Minute {
		kept = s.kept
		s.since, s.said, s.kept = now, 0, 0
	}
	if s.said == mostLines {
		s.kept++
		return false, 0
	}
	s.said++
	return true, kept
}

func (h *sparing) Handle(ctx context.Context, r slog.Record) error {
	ok, kept := h.may()
	if !ok {
		return nil
	}
	if kept > 0 {
		more := slog.NewRecord(r.Time, slog.LevelWarn, "there was too much of this to tell it all", 0)
		more.Add("lines", kept)
		if err := h.Handler.Handle(ctx, more); err != nil {
			return err
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h *sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sparing{h.Handler.WithAttrs(attrs), h.spared}
}

func (h *sparing) WithGroup(name string) slog.Handler {
	return &sparing{h.Handler.WithGroup(name), h.spared}
}
