package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"tachograph/api/sysctl"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query/querytest"
)

// mac describes a recording of a Mac with a metric of each kind.
const mac = `start 2026-11-20T03:00:00Z
host book id=7 os=Darwin release=24.6.0 arch=arm64 platform=macos
interval static 2562047h
interval constrained 2m
interval polled 10s
metric hw.cpufamily i32 discrete - static
metric hw.memsize u64 discrete - static byte
metric hw.pagesize i64 discrete - static byte
metric hw.cachesize u64 discrete cache static byte
metric kern.boottime u64 discrete - static microsec
metric kern.ostype string discrete - static
metric kern.clockrate i32 discrete field static
metric kern.maxvnodes i32 discrete - constrained
metric vm.loadavg f64 instant load polled
metric vm.swapusage u64 instant field polled byte
metric vm.pages i32 instant - polled
metric vm.page_free_count i32 instant - polled
metric vm.page_free_wanted i32 instant - polled
metric vm.pageout_inactive_used u32 counter - polled
metric vm.pages_grabbed i64 counter - polled
metric kpc.pc_capture_supported i32 instant - polled
  unsupported this Mac has no such counter
metric kernel.all.uptime u64 instant - polled sec
  source sysctl kern.boottime
metric debug.other i32 discrete - constrained
  source sysctl debug.other
metric computed.memory_utilization_pct f64 instant - polled percent
  formula (vm.pages - vm.page_free_count) / vm.pages
metric computed.uptime_seconds i64 instant - polled sec
  formula kernel.all.uptime
metric swap.used u64 instant - polled Kbyte
metric swap.length u64 instant - polled Kbyte
metric computed.swap_utilization_pct f64 instant - polled percent
  formula swap.used / swap.length
instance load 1 1 minute
instance load 5 5 minute
instance load 15 15 minute
instance field total total
instance field avail avail
instance field used used
instance field hz hz
instance field tick tick
instance field tickadj tickadj
instance field stathz stathz
instance field profhz profhz
instance cache 0 0
instance cache 1 1
instance cache 2 2
instance cache 3 3
instance cache 4 4
instance cache 5 5
instance cache 6 6
instance cache 7 7
instance cache 8 8
instance cache 9 9
boot boot-1 -1h
tick static 0s
  hw.cpufamily -634136515
  hw.memsize 17179869184
  hw.pagesize 16384
  hw.cachesize[0] 17179869184
  hw.cachesize[1] 65536
  hw.cachesize[2] 4194304
  hw.cachesize[3] 0
  hw.cachesize[4] 0
  hw.cachesize[5] 0
  hw.cachesize[6] 0
  hw.cachesize[7] 0
  hw.cachesize[8] 0
  hw.cachesize[9] 0
  kern.boottime 1795143600000021
  kern.ostype "Darwin"
  kern.clockrate[hz] 100
  kern.clockrate[tick] 10000
  kern.clockrate[tickadj] 1
  kern.clockrate[profhz] 99
  kern.clockrate[stathz] 98
tick constrained 0s
  kern.maxvnodes 263168
  debug.other -2
tick polled 0s
  vm.loadavg[1] 1.5
  vm.loadavg[5] 0.00048828125
  vm.loadavg[15] 12
  vm.swapusage[total] 3221225472
  vm.swapusage[avail] 1241513984
  vm.swapusage[used] 1979711488
  vm.pages 1000
  vm.page_free_count 250
  vm.page_free_wanted !permission denied
  vm.pageout_inactive_used 4294967295
  vm.pages_grabbed -3
  kernel.all.uptime 3661
  swap.used 3
  swap.length 4
`

// later is what the Mac reads later, 10 s after each other.
var later = []string{`tick polled 10s
  vm.pages 1000
  vm.page_free_count 251
  vm.page_free_wanted !permission denied
  vm.pages_grabbed 7
`, `tick polled 20s
  vm.pages 1000
  vm.page_free_count !not read
  vm.page_free_wanted 0
  vm.pages_grabbed 7
`, `tick polled 30s
  vm.pages 1000
  vm.page_free_count 251
  vm.page_free_wanted 0
  vm.pages_grabbed 7
`}

// A rig is a service of a followed archive; a test says what is recorded.
type rig struct {
	*Service
	mu    sync.Mutex // guards known and now, which the service reads while it streams
	known *catalogue.Known
	hub   *live.Hub
	items chan archive.Item
	text  string
	ticks int
	now   time.Time
	stop  context.CancelCauseFunc
}

func (r *rig) Next(ctx context.Context) (archive.Item, error) {
	select {
	case <-ctx.Done():
		return archive.Item{}, context.Cause(ctx)
	case it := <-r.items:
		return it, nil
	}
}
func (r *rig) Position() follow.Position { return follow.Position{} }
func (r *rig) Close() error              { return nil }

func (r *rig) Known() (*catalogue.Known, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known, nil
}

// clock returns the time of the service.
func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) Present(ctx context.Context) (*live.State, error) { return r.hub.Now(ctx) }

// newRig must be called in a bubble. Without a text nothing has been recorded.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	r := &rig{items: make(chan archive.Item, 100), known: &catalogue.Known{Catalogue: selection.New(nil, nil)}}
	r.hub = live.NewHub(live.Options{Open: func(follow.Position) (live.Follower, error) { return r, nil }})
	go r.hub.Run(t.Context())
	var stopping context.Context
	stopping, r.stop = context.WithCancelCause(t.Context())
	r.Service = New(Options{Source: r, Now: r.clock, Patience: 10 * time.Second, Stopping: stopping})
	if text != "" {
		r.record(t, text)
	}
	return r
}

// record has the ticks recorded that text describes, in addition to those of before.
func (r *rig) record(t *testing.T, text string) {
	t.Helper()
	r.text += text
	parts, err := querytest.Parse(strings.NewReader(r.text))
	if err != nil {
		t.Fatal(err)
	}
	p := parts[0]
	r.mu.Lock()
	r.known = &catalogue.Known{Catalogue: selection.New(&p.Info, p.Catalog), Info: &p.Info}
	r.mu.Unlock()
	for _, tick := range p.Ticks[r.ticks:] {
		for _, b := range tick.Blocks {
			for _, in := range b.Rows {
				if b.Group.Indom == "load" {
					in.Key = in.Name // as the recorder has them
				}
			}
		}
		r.items <- archive.Item{Archive: &p.Info, Tick: tick}
		r.mu.Lock()
		r.now = tick.At.Time().Add(100 * time.Millisecond)
		r.mu.Unlock()
	}
	r.ticks = len(p.Ticks)
	r.items <- archive.Item{Archive: &p.Info, Present: true}
	synctest.Wait()
}

// get returns what GetMetrics answers, as shown has it.
func (r *rig) get(t *testing.T, names ...string) []string {
	t.Helper()
	res, err := r.GetMetrics(t.Context(), connect.NewRequest(&sysctl.GetMetricsRequest{Names: names}))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range res.Msg.Metrics {
		out = append(out, shown(m))
	}
	return out
}

// shown returns a metric as text.
func shown(m *sysctl.Metric) string {
	text := m.Name + " (" + m.Category + ") "
	switch v := m.Value.(type) {
	case nil:
		return text + "error " + m.Error
	case *sysctl.Metric_StringValue:
		text += "string " + v.StringValue
	case *sysctl.Metric_Uint64Value:
		text += fmt.Sprint("uint64 ", v.Uint64Value)
	case *sysctl.Metric_Int64Value:
		text += fmt.Sprint("int64 ", v.Int64Value)
	case *sysctl.Metric_Uint32Value:
		text += fmt.Sprint("uint32 ", v.Uint32Value)
	case *sysctl.Metric_Int32Value:
		text += fmt.Sprint("int32 ", v.Int32Value)
	case *sysctl.Metric_RawValue:
		text += fmt.Sprintf("raw %x", v.RawValue)
	case *sysctl.Metric_StructValue:
		text += v.StructValue.TypeName
		for _, field := range slices.Sorted(maps.Keys(v.StructValue.Fields)) {
			text += " " + field + "=" + v.StructValue.Fields[field]
		}
	}
	if m.Error != "" {
		text += " and error " + m.Error
	}
	return text
}
