package livepage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// scripted is a recording that goes on: a tick each second of its clock.
type scripted struct {
	opened, closed *atomic.Int64
	info           *archive.Info
	group          *metric.Group
}

func (s *scripted) Next(ctx context.Context) (archive.Item, error) {
	select {
	case <-ctx.Done():
		return archive.Item{}, ctx.Err()
	case <-time.After(time.Second):
	}
	at := metric.Stamp{Wall: time.Now().UnixNano(), Awake: time.Now().UnixNano(), Cont: time.Now().UnixNano()}
	b := &metric.Block{Group: s.group, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{uint64(at.Wall)}}}}
	return archive.Item{Archive: s.info, Tick: &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}}, nil
}
func (s *scripted) Position() follow.Position { return follow.Position{} }
func (s *scripted) Close() error              { s.closed.Add(1); return nil }

// rig is a server whose answers say what they were asked.
type rig struct {
	*Server
	opened, closed        atomic.Int64
	windows, fresh, whole atomic.Int64
	block                 chan struct{} // windows wait for it; nil if not
}

func newRig(t *testing.T, limits Limits) *rig {
	r := new(rig)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	d := &metric.Desc{Name: "kernel.all.load", Type: metric.U64, Class: metric.Fast}
	src := &scripted{opened: &r.opened, closed: &r.closed, group: &metric.Group{Name: "load", Metrics: []*metric.Desc{d}},
		info: &archive.Info{ID: "a", Host: metric.Host{ID: "h", Name: "host"}, BootID: "b", Intervals: metric.Intervals{metric.Fast: time.Second}}}
	r.Server = New(Options{
		Shell: []byte("<!DOCTYPE html>"), Policy: "default-src 'none'", Stopping: ctx, Limits: limits,
		Follow: func() (live.Follower, error) { r.opened.Add(1); return src, nil },
		Window: func(ctx context.Context, w Window) ([]byte, error) {
			r.windows.Add(1)
			if r.block != nil {
				select {
				case <-r.block:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			switch w.Host {
			case "nosuch":
				return nil, errors.New("there is no host called no\x1bsuch")
			case "broken":
				panic("on purpose")
			}
			return fmt.Appendf(nil, "%+v", w), nil
		},
		More: func(ctx context.Context, a query.Archive, m More) ([]byte, error) {
			if a == nil {
				r.whole.Add(1)
				return []byte("of the archives"), nil
			}
			r.fresh.Add(1)
			return fmt.Appendf(nil, "%d s to %d s", (m.To-m.From)/1e9, m.To/1e9), nil
		},
	})
	return r
}

func (r *rig) get(target string, header ...string) (int, string) {
	req := httptest.NewRequest("GET", target, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	body, _ := io.ReadAll(w.Body)
	return w.Code, string(body)
}

func TestWindows(t *testing.T) {
	r := newRig(t, DefaultLimits)
	for _, c := range []struct {
		query string
		code  int
		want  string
	}{
		{"", 200, "{Host: From: To: At: Last:1h0m0s}"},
		{"?last=15m&host=h", 200, "{Host:h From: To: At: Last:15m0s}"},
		{"?from=03:12&to=03:20", 200, "{Host: From:03:12 To:03:20 At: Last:0s}"},
		{"?at=-2h", 200, "{Host: From: To: At:-2h Last:0s}"},
		{"?last=1s", 400, "write a length from 1m to 24h"},
		{"?last=800h", 400, "write a length from 1m to 24h"},
		{"?last=%1b", 400, `\x1b`},
		{"?host=nosuch", 400, `there is no host called no\x1bsuch`},
		{"?host=broken", 500, "please report it"},
		{"?token=x", 400, "token says nothing about a window"},
		{"?from=1&from=2", 400, "once each"},
		{"?since=x&step=1", 400, "no instant"},
		{"?since=5&step=1", 400, "no length of columns"},
		{"?since=5&step=1000000000", 200, "of the archives"},
	} {
		if code, body := r.get("/v1/page" + c.query); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%q: %d %q", c.query, code, body)
		}
	}
	if code, _ := r.get("/v1/page", "Sec-Fetch-Site", "cross-site"); code != 403 {
		t.Errorf("a page of a stranger gets %d", code)
	}
	if code, _ := r.get("/v1/page", "Sec-Fetch-Site", "same-origin"); code != 200 {
		t.Errorf("our page gets %d", code)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("POST", "/v1/page", nil))
	if w.Code != 405 {
		t.Errorf("a POST gets %d", w.Code)
	}
}

func TestShell(t *testing.T) {
	r := newRig(t, DefaultLimits)
	w := httptest.NewRecorder()
	r.Shell().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Type": "text/html; charset=utf-8"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Many who ask for the same at the same time, or a little later, have it read once.
func TestReadOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, DefaultLimits)
		r.block = make(chan struct{})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if code, body := r.get("/v1/page"); code != 200 {
					t.Errorf("%d %s", code, body)
				}
			})
		}
		synctest.Wait()
		close(r.block)
		all.Wait()
		time.Sleep(5 * time.Second)
		r.get("/v1/page")
		if n := r.windows.Load(); n != 1 {
			t.Errorf("read %d times", n)
		}
		time.Sleep(10 * time.Second)
		r.get("/v1/page")
		if n := r.windows.Load(); n != 2 {
			t.Errorf("after a while read %d times", n)
		}
	})
}

// What many ask for is read a few at a time; more than may wait are refused, and what
// nobody waits for any more is not read on.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{AtOnce: 2, Waiting: 3, Longest: time.Minute, Kept: 1 << 20, Linger: time.Minute})
		r.block = make(chan struct{})
		codes := make(chan int, 10)
		for i := range 6 {
			go func() {
				code, _ := r.get(fmt.Sprintf("/v1/page?at=%d", i))
				codes <- code
			}()
			synctest.Wait()
		}
		if got := <-codes; got != 429 || r.windows.Load() != 2 {
			t.Errorf("one too many gets %d, and %d are being read", got, r.windows.Load())
		}
		time.Sleep(time.Minute)
		for range 5 {
			if got := <-codes; got != 504 {
				t.Errorf("what takes too long is answered with %d", got)
			}
		}
		synctest.Wait()
		before := r.windows.Load()
		ctx, leave := context.WithCancel(t.Context())
		go r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/page?at=9", nil).WithContext(ctx))
		synctest.Wait()
		leave()
		synctest.Wait()
		if n := r.windows.Load(); n != before+1 || len(r.Server.windows.items) != 0 {
			t.Errorf("%d windows were read, of which one is for nobody (%d before); %d are kept", n, before, len(r.Server.windows.items))
		}
	})
}

// What has come since is made once for all pages that are as far; it comes out of
// memory as soon as enough is there; and nothing is followed when nobody looks.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, DefaultLimits)
		if r.opened.Load() != 0 {
			t.Error("something is followed before anybody looks")
		}
		r.get("/v1/page")
		since := func() string {
			return fmt.Sprintf("/v1/page?host=h&step=5000000000&since=%d", time.Now().Add(-12*time.Second).UnixNano())
		}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait() // what is recorded at that very instant has come
		}
		pass(10 * time.Second)
		if _, body := r.get(since()); body != "of the archives" {
			t.Errorf("too early: %q", body)
		}
		for range 10 {
			pass(10 * time.Second)
			for range 50 {
				r.get(since())
			}
		}
		if n := r.fresh.Load(); n < 2 || n > 10 {
			t.Errorf("500 requests of 50 pages were made %d times", n)
		}
		_, last, _ := reach(r.feed.archive)
		if code, body := r.get(fmt.Sprintf("/v1/page?host=h&step=5000000000&since=%d", last)); code != 204 || body != "" {
			t.Errorf("who has everything gets %d %q", code, body)
		}
		if _, body := r.get(strings.Replace(since(), "host=h", "host=other", 1)); body != "of the archives" {
			t.Errorf("another host: %q", body)
		}
		if r.opened.Load() != 1 || r.closed.Load() != 0 {
			t.Errorf("followed %d times, left %d times", r.opened.Load(), r.closed.Load())
		}
		pass(2 * time.Minute)
		if r.closed.Load() != 1 || r.feed.archive != nil {
			t.Error("it is followed though nobody looks")
		}
		r.get("/v1/page")
		synctest.Wait()
		if r.opened.Load() != 2 {
			t.Error("it is not followed anew")
		}
	})
}

func TestMoreCheck(t *testing.T) {
	m := More{From: 100e9, Since: 160e9, Step: 1e9}
	for _, c := range []struct {
		end     int64
		nothing bool
		err     error
	}{{150e9, true, nil}, {160e9, true, nil}, {161e9, false, nil}, {2100e9, false, nil}, {2102e9, false, ErrLongAgo}} {
		if nothing, err := m.Check(c.end); nothing != c.nothing || err != c.err {
			t.Errorf("to %d s: %v %v", c.end/1e9, nothing, err)
		}
	}
	w := httptest.NewRecorder()
	refuse(w, ErrLongAgo)
	if w.Code != 410 {
		t.Errorf("who was away for too long gets %d", w.Code)
	}
}
