package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/patience"
)

// A rig is a recorder, and a server that follows it at a unix socket.
type rig struct {
	t      testing.TB
	dir    string
	opt    recording.Options
	clock  *proof.Clock
	w      *recording.Writer
	hub    *Hub
	pub    *Publisher
	socket string
	stop   func()
	halt   func()                   // the hub alone
	ticks  [metric.NumClasses]int64 // continuous clocks of the last ones
	turned bool                     // another archive has been begun
}

// bare is LiveService with nothing but Subscribe.
type bare struct {
	tachographv1connect.UnimplementedLiveServiceHandler
	*Publisher
}

func (b bare) Subscribe(ctx context.Context, r *connect.Request[tachographv1.SubscribeRequest], out *connect.ServerStream[tachographv1.SubscribeResponse]) error {
	return b.Publisher.Subscribe(ctx, r, out)
}

func newRig(t testing.TB, catalog []*metric.Desc, intervals metric.Intervals, start metric.Stamp) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), clock: proof.NewClock(start)}
	r.opt = recorded.ProofOptions(r.dir, 1, r.clock.Now)
	r.opt.Catalog, r.opt.Intervals = catalog, intervals
	r.open()
	r.serve()
	return r
}

func (r *rig) open() {
	w, err := recording.Create(r.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
}

func (r *rig) close() {
	if r.w != nil {
		if err := r.w.Close(); err != nil {
			r.t.Fatal(err)
		}
		r.w = nil
	}
}

// serve begins to serve; what was served before must have been stopped.
func (r *rig) serve() {
	r.hub = NewHub(Options{Linger: 50 * time.Millisecond, Open: func(from follow.Position) (Follower, error) {
		return follow.Open(follow.Options{From: from, Standing: true, Wait: true}, r.dir)
	}})
	r.pub = &Publisher{
		Hub: r.hub,
		Catalogue: func() (*selection.Catalogue, error) {
			rd, err := store.Open(r.dir)
			if err != nil {
				return nil, err
			}
			defer rd.Close()
			infos := rd.Archives()
			info := *infos[len(infos)-1]
			return selection.New(&info, rd.Metrics()), nil
		},
		Follow: func(from follow.Position, classes []metric.Class) (Follower, error) {
			return follow.Open(follow.Options{From: from, Standing: true, Classes: classes}, r.dir)
		},
		Oldest: func() (follow.Position, error) { return OldestPosition(r.dir) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { r.hub.Run(ctx) })
	mux := http.NewServeMux()
	mux.Handle(tachographv1connect.NewLiveServiceHandler(bare{Publisher: r.pub}))
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	dir, err := os.MkdirTemp("", "s") // for the path of a socket must be short
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { os.RemoveAll(dir) })
	r.socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	r.halt = func() {
		cancel()
		wg.Wait()
	}
	r.stop = sync.OnceFunc(func() {
		r.halt()
		srv.CloseClientConnections()
		srv.Close()
	})
	r.t.Cleanup(r.stop)
	r.t.Cleanup(func() {
		if r.w != nil {
			r.w.Close()
			r.w = nil
		}
	})
}

// dial is a client of its own connection.
func (r *rig) dial(opts ...connect.ClientOption) (tachographv1connect.LiveServiceClient, func()) {
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	return tachographv1connect.NewLiveServiceClient(&http.Client{Transport: tr}, "http://x", append(opts, connect.WithGRPC())...), tr.CloseIdleConnections
}

func (r *rig) append(t *metric.Tick) {
	r.clock.Set(t.At)
	if err := r.w.Append(t); err != nil {
		r.t.Fatal(err)
	}
	if r.turned { // positions in another archive begin anew
		r.ticks, r.turned = [metric.NumClasses]int64{}, false
	}
	r.ticks[t.Class] = t.At.Cont
}

func (r *rig) event(e metric.Event) {
	r.clock.Set(e.At)
	if err := r.w.Event(e); err != nil {
		r.t.Fatal(err)
	}
}

// A cell is one value at one instant.
type cell struct {
	metric, key string
	wall        int64
}

// A log is what a client has been told.
type log struct {
	values    map[cell]string
	events    []string
	mergedN   int
	left      int
	frames    int
	last      time.Time
	first     int64 // wall clock of the first frame
	position  string
	positions []string
	twice     []cell
	lost      []string
	archives  map[string]bool
	archiveOf map[string]int64 // since when they were recorded
}

func newLog() *log {
	return &log{values: make(map[cell]string), archives: make(map[string]bool), archiveOf: make(map[string]int64)}
}

// add notes a frame: every value of every table that was read.
func (l *log) add(f *client.Frame) {
	if l.frames++; l.frames == 1 {
		l.first = f.Time.UnixNano()
	}
	l.mergedN += int(f.Merged)
	l.left += int(f.EventsLeftOut)
	l.lost = append(l.lost, f.Lost...)
	for _, rd := range f.Readings {
		for _, row := range rd.Table.Rows {
			for i := range row.Table.Metrics {
				c := cell{row.Table.Metrics[i].Name, row.Instance.GetKey(), rd.Time.UnixNano()}
				v := row.Table.Metrics[i].Format(row.Values[i]) + "|" + row.Values[i].Absent
				if old, ok := l.values[c]; ok && (!f.Snapshot || old != v) {
					l.twice = append(l.twice, c)
				}
				l.values[c] = v
			}
		}
	}
	for _, e := range f.Events {
		if e.Kind == string(metric.EventRotate) {
			continue // of the writer's own
		}
		l.events = append(l.events, fmt.Sprint(e.SinceBootNs, " ", e.Kind, " ", e.Text))
	}
	if f.Archive != nil {
		l.archives[f.Archive.Id] = true
		l.archiveOf[f.Archive.Id] = f.Time.UnixNano()
	}
	l.last = f.Time
	if f.Position != "" {
		l.position = f.Position
		l.positions = append(l.positions, f.Position)
	}
}

// recorded is what a Reader shows, in the same words.
func (r *rig) recorded(metrics ...string) map[cell]string {
	r.t.Helper()
	rd, err := store.Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rd.Close()
	all := make(map[cell]string)
	for run := range rd.Select(store.Selection{Metrics: metrics}) {
		key := ""
		if run.Instance != nil {
			key = run.Instance.Key
		}
		col := metric.Column{Bits: run.Bits, Words: run.Words, Miss: run.Miss}
		for i, wall := range run.Wall {
			v := col.At(run.Metric.Type, i)
			text, miss := v.String(), ""
			if v.Miss != metric.Present {
				miss = v.Miss.String()
			}
			all[cell{run.Metric.Name, key, wall}] = text + "|" + miss
		}
	}
	return all
}

// compare compares what a client was told, from some instant on, with what was
// recorded.
func (l *log) compare(t testing.TB, want map[cell]string, from int64) {
	t.Helper()
	wrong, n := 0, 0
	for c, v := range want {
		if c.wall < from {
			continue
		}
		n++
		if got, ok := l.values[c]; !ok || got != v {
			if wrong++; wrong < 4 {
				t.Errorf("%+v: told %q (%v), recorded %q", c, got, ok, v)
			}
		}
	}
	for c, v := range l.values {
		if _, ok := want[c]; !ok {
			if wrong++; wrong < 4 {
				t.Errorf("%+v: told %q, not recorded", c, v)
			}
		}
	}
	if len(l.twice) > 0 {
		t.Errorf("%d values were told twice: %+v", len(l.twice), l.twice[0])
	}
	if n == 0 {
		t.Error("nothing to compare")
	}
	if wrong > 0 {
		t.Errorf("%d of %d values are wrong", wrong, n)
	}
}

// errDone ends a subscription.
var errDone = errors.New("done")

// subscribe runs a subscription until done says so.
func (r *rig) subscribe(req *tachographv1.SubscribeRequest, done func(*client.Frame) bool) error {
	svc, hangUp := r.dial()
	defer hangUp()
	sub := client.Subscription{Service: svc, Request: req, First: time.Millisecond, Last: 50 * time.Millisecond,
		Trouble: func(err error) {
			if r.t.Context().Err() == nil {
				r.t.Log(err)
			}
		}}
	err := sub.Run(r.t.Context(), func(f *client.Frame) error {
		if done(f) {
			return errDone
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// settled waits until the goroutines of package live and of follow are gone.
func settled(t testing.TB) {
	t.Helper()
	first := ""
	defer func() {
		if t.Failed() && first != "" {
			t.Logf("one that is left:\n%s", first)
		}
	}()
	patience.Until(t, "no goroutines are left", func() bool {
		buf := make([]byte, 1<<20)
		all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left := slices.DeleteFunc(all, func(s string) bool {
			return strings.Contains(s, "testing.") || !strings.Contains(s, "tachograph/cmd/replay/internal/serve/live.") && !strings.Contains(s, "tachograph/store/follow.")
		})
		if first = ""; len(left) > 0 {
			first = left[0]
		}
		return first == ""
	})
}
