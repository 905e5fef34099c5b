package livepage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// Window is the window that a page asks for.
type Window struct {
	// Host is the name or ID of the host; it may be empty if there is only one.
	Host string
	// From, To and At are times as people type them. If all are empty, the window is the last
	// that was recorded.
	From, To, At string
	// Last is how long the window is then.
	Last time.Duration
}

// More is a page's request for what was recorded since it was loaded.
type More struct {
	Host     string // its ID
	From, To int64  // wall clock; To 0: up to the present
	Step     int64  // how long a column of the page lasts
	Since    int64  // where the page's data ends
}

// ErrLongAgo says that so much was recorded since that the page should ask for its window anew.
var ErrLongAgo = errors.New("much has been recorded since: ask for the window anew")

// Check reports, for a recording that ends at end, whether there is nothing new. It returns
// ErrLongAgo if there is too much.
func (m More) Check(end int64) (nothing bool, err error) {
	if end <= m.Since {
		return true, nil
	}
	if (end-m.From)/m.Step > mostColumns {
		return false, ErrLongAgo
	}
	return false, nil
}

// Options say what is served.
type Options struct {
	// Shell is the page without data, and Policy its content security policy.
	Shell  []byte
	Policy string
	Window func(ctx context.Context, w Window) ([]byte, error)
	// More makes the columns that are new for a page, from the given archive or, if that is nil,
	// from the archives; it returns nothing if nothing is new.
	More func(ctx context.Context, a query.Archive, m More) ([]byte, error)
	// Follow opens a follower at the present end.
	Follow func() (live.Follower, error)
	// Stopping ends the work in the background.
	Stopping context.Context
	Limits   Limits
}

// Limits keep pages from overloading the machine.
type Limits struct {
	// AtOnce is how many windows are read at a time, each of which may take 150 MB; Waiting is
	// how many may wait.
	AtOnce, Waiting int
	// Longest is how long reading a window may take.
	Longest time.Duration
	// Kept is how many bytes of answers are kept for pages that ask for the same.
	Kept int
	// Linger is how long the recording is followed after the last page has gone.
	Linger time.Duration
}

// DefaultLimits are the limits of a server that sets no others.
var DefaultLimits = Limits{AtOnce: 1, Waiting: 32, Longest: time.Minute, Kept: 16 << 20, Linger: time.Minute}

// A Server serves the page and its data.
type Server struct {
	opt     Options
	windows *shelf
	news    *shelf
	feed    *feed
}

// kept is how much of the recent past is kept in memory. New data may still change columns that
// a page has: a page leaves out the first fifteen seconds of what it gets, and needs the reading
// before that.
const (
	kept    = 6 * time.Minute
	overlap = 45 * time.Second
	before  = 15 * time.Second
)

// mostColumns is how many columns a page may be behind; a page that was away longer asks for its
// window anew.
const mostColumns = 2000

// New returns a Server.
func New(opt Options) *Server {
	l := opt.Limits
	return &Server{opt: opt,
		// A window that took long to read is kept longer.
		windows: &shelf{longest: l.Longest, most: l.Kept, turns: listen.NewTurns(l.AtOnce, l.Waiting),
			hold: func(took time.Duration) time.Duration { return min(max(10*time.Second, 50*took), 2*time.Minute) }},
		// News are read again soon, and do not wait for windows of the past.
		news: &shelf{longest: l.Longest, most: l.Kept / 4, turns: listen.NewTurns(1, l.Waiting),
			hold: func(time.Duration) time.Duration { return 30 * time.Second }},
		feed: &feed{open: opt.Follow, linger: l.Linger, keep: recent.Keep{Ticks: 3, For: kept}},
	}
}

// Shell returns the handler of the page itself, which holds nothing that was recorded.
func (s *Server) Shell() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", s.opt.Policy)
		harden(h)
		h.Set("Content-Length", strconv.Itoa(len(s.opt.Shell)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(s.opt.Shell)
		}
	})
}

// harden forbids browsers some uses of an answer.
func harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// ServeHTTP answers the page: with a window or, if the query has since, with what was recorded
// since then.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "windows are got with GET", http.StatusMethodNotAllowed)
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "pages of others get nothing here", http.StatusForbidden)
		return
	}
	body, err := s.answer(r)
	switch {
	case err != nil:
		refuse(w, err)
	case len(body) == 0:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(body)
		}
	}
}

func (s *Server) answer(r *http.Request) ([]byte, error) {
	q := r.URL.Query()
	for name, values := range q {
		if !slices.Contains([]string{"host", "from", "to", "at", "last", "since", "step"}, name) || len(values) > 1 {
			return nil, status.Invalid("window", "%s says nothing about a window: host, from, to, at and last do, once each", visible.Text(name))
		}
	}
	if q.Has("since") {
		return s.more(r.Context(), q.Get("host"), q.Get("since"), q.Get("step"))
	}
	win := Window{Host: q.Get("host"), From: q.Get("from"), To: q.Get("to"), At: q.Get("at")}
	if win.From == "" && win.To == "" && win.At == "" {
		win.Last = time.Hour
		if text := q.Get("last"); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil || d < time.Minute || d > 24*time.Hour {
				return nil, status.Invalid("last", "%s: write a length from 1m to 24h; for more choose from and to", visible.Text(text))
			}
			win.Last = d
		}
		s.feed.use(s.opt.Stopping)
	}
	return s.windows.get(r.Context(), fmt.Sprintf("%q", win), func(ctx context.Context) ([]byte, error) { return s.opt.Window(ctx, win) })
}

// more returns what was recorded since an instant, in columns of step nanoseconds.
func (s *Server) more(ctx context.Context, host, since, step string) ([]byte, error) {
	at, err := strconv.ParseInt(since, 10, 64)
	if err != nil || at <= 0 {
		return nil, status.Invalid("since", "%s is no instant in nanoseconds", visible.Text(since))
	}
	long, err := strconv.ParseInt(step, 10, 64)
	if err != nil || long < int64(time.Second) || long > int64(24*time.Hour) {
		return nil, status.Invalid("step", "%s is no length of columns in nanoseconds", visible.Text(step))
	}
	s.feed.use(s.opt.Stopping)
	from, to := int64(0), int64(0)
	_ = s.feed.with(func(a *recent.Archive) error {
		if slices.ContainsFunc(a.Hosts(), func(h metric.Host) bool { return h.ID == host }) {
			from, to, _ = reach(a)
		}
		return nil
	})
	m := More{Host: host, Step: long, Since: at, From: at - int64(overlap) - long}
	m.From -= mod(m.From, long)
	pace := max(min(long, int64(30*time.Second)), int64(5*time.Second))
	round := time.Now().UnixNano() / pace
	inMemory := from > 0 && from <= m.From-int64(before)
	if inMemory {
		m.To = to - mod(to, pace)
		if nothing, err := m.Check(m.To); nothing || err != nil {
			return nil, err
		}
		round = m.To
	}
	return s.news.get(ctx, fmt.Sprintf("%q %d", fmt.Sprint(m), round), func(ctx context.Context) (body []byte, err error) {
		if !inMemory {
			return s.opt.More(ctx, nil, m)
		}
		err = s.feed.with(func(a *recent.Archive) error {
			body, err = s.opt.More(ctx, a, m)
			return err
		})
		return body, err
	})
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// refuse answers the page with a sentence that says why it gets nothing.
func refuse(w http.ResponseWriter, err error) {
	text, code := err.Error(), http.StatusInternalServerError
	var told *connect.Error
	switch {
	case errors.As(err, &told):
		text, code = told.Message(), status.HTTP(told.Code())
	case errors.Is(err, ErrLongAgo):
		code = http.StatusGone
	case errors.Is(err, errTooLong):
		code = http.StatusGatewayTimeout
	case errors.Is(err, errBroken):
	default:
		code = http.StatusBadRequest
	}
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, visible.Text(text), code)
}
