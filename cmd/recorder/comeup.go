package main

import (
	"fmt"
	"time"

	"tachograph/cmd/recorder/service"
)

// bringUp starts the service with do and waits until a recorder started after since has
// recorded. The error includes the service's last error.
func (h *host) bringUp(since time.Time, do func() error) error {
	words := h.listen()
	err := do()
	if err == nil {
		err = h.awaitRecording(since)
	}
	return words.explain(err)
}

// awaitRecording waits until a recorder started after since has recorded.
func (h *host) awaitRecording(since time.Time) error {
	dir := h.archives()
	deadline := time.Now().Add(h.waits.firstTick)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var down time.Time // since when it has not been running; zero: it is running
	for now := range ticker.C {
		st, err := service.ReadStatus(dir)
		// Times in the status file come from another process and may be rounded; a second
		// covers the difference.
		if err == nil && !st.Stopped && st.Started.After(since.Add(-time.Second)) && st.Values > 0 && service.Running(dir, st) {
			return nil
		}
		state, err := h.manager.State()
		switch {
		case err != nil || state.Running:
			down = time.Time{}
		case down.IsZero():
			down = now
		case now.Sub(down) >= h.waits.downFor:
			how := ""
			if state.LastExit != "" {
				how = " (" + state.LastExit + ")"
			}
			return fmt.Errorf("the service does not come up: it ends as soon as it is started%s; see %s", how, h.logPlace())
		}
		if now.After(deadline) {
			break
		}
	}
	return fmt.Errorf("the service was started, but has recorded nothing within %s: see %s", h.waits.firstTick, h.logPlace())
}
