package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"tachograph/api/sysctl"
)

// A client takes responses at its leisure.
type client struct {
	frames chan *sysctl.SubscribeResponse
	ended  chan error
	leave  context.CancelFunc
}

func (r *rig) subscribe(t *testing.T, every time.Duration, names ...string) *client {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	c := &client{make(chan *sysctl.SubscribeResponse), make(chan error, 1), leave}
	go func() {
		c.ended <- r.stream(ctx, &sysctl.SubscribeRequest{Names: names, IntervalNs: int64(every)}, func(m *sysctl.SubscribeResponse) error {
			select {
			case c.frames <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return c
}

// next returns the next response as text.
func (c *client) next() string {
	m := <-c.frames
	var out []string
	for _, d := range m.Deltas {
		out = append(out, fmt.Sprintf("%s %x", d.Name, d.Value))
	}
	return strings.Join(append(out, m.Errors...), "; ")
}

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		began := time.Now()
		c := r.subscribe(t, time.Second, "vm.page_free_count", "vm.pages", "kern.clockrate", "vm.page_free_count", "vm.page_free_wanted", "no\x1bsuch", "debug.other", "computed.uptime_seconds", "hw.ncpu")
		m := <-c.frames
		if m.TimestampNs != time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano() {
			t.Errorf("at %d", m.TimestampNs)
		}
		if want := []string{`no\x1bsuch: unknown metric`, "debug.other: unknown metric", "computed.uptime_seconds: is computed, so no kernel has bytes of it: use GetMetrics",
			"vm.page_free_wanted: permission denied", "hw.ncpu: is not in this recording"}; !slices.Equal(m.Errors, want) {
			t.Errorf("%q", m.Errors)
		}
		if len(m.Deltas) != 3 || m.Deltas[0].Name != "vm.page_free_count" || m.Deltas[1].Name != "vm.pages" || len(m.Deltas[2].Value) != 20 {
			t.Errorf("%v", m.Deltas)
		}
		for i, want := range []string{
			"", // nothing has changed
			"vm.page_free_count fb000000",
			"vm.page_free_wanted 00000000; vm.page_free_count: not read",
			"vm.page_free_count fb000000", // again, as it was lost
			"",
		} {
			if i > 0 && i <= len(later) {
				r.record(t, later[i-1])
			}
			if got := c.next(); got != want {
				t.Errorf("response %d: %q, want %q", i, got, want)
			}
			if took := time.Since(began); took != time.Duration(i+1)*time.Second {
				t.Errorf("response %d after %v", i, took)
			}
		}
		r.stop(errors.New("the server stops"))
		if err := <-c.ended; err == nil || err.Error() != "the server stops" {
			t.Errorf("%v", err)
		}
	})
}

func TestIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, mac)
		for _, every := range []time.Duration{1, 99_999_999} {
			err := r.stream(t.Context(), &sysctl.SubscribeRequest{Names: []string{"vm.pages"}, IntervalNs: int64(every)}, nil)
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "100ms") || !strings.Contains(err.Error(), "min_interval_ns") {
				t.Errorf("%d: %v", every, err)
			}
		}
		for every, want := range map[time.Duration]time.Duration{0: shortest, -1 << 63: shortest, shortest: shortest, 30 * time.Second: 30 * time.Second} {
			c := r.subscribe(t, every, "vm.pages")
			began := time.Now()
			<-c.frames
			<-c.frames
			if took := time.Since(began); took != want {
				t.Errorf("%v: a response after %v", every, took)
			}
			c.leave()
			if err := <-c.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
	})
}

// Who subscribes before there is an archive gets what is recorded later.
func TestSubscribeToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "")
		c := r.subscribe(t, time.Second, "vm.pages")
		for _, want := range []string{"vm.pages: nothing has been recorded yet", ""} {
			if got := c.next(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		r.record(t, mac)
		if got := c.next(); got != "vm.pages e8030000" {
			t.Errorf("%q", got)
		}
		c.leave()
		<-c.ended
	})
}
