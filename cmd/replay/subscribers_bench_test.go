package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// BenchmarkSubscribers says what replay serve takes, as a process, while a recorded
// workstation (TACHO_DATASET: 360 processes, everything each second) is recorded
// four times as fast and so many subscribers are told everything: the processor
// time of a second of the machine, what is resident, and how long after its write a
// tick is with a subscriber. Clients run in another process, this one.
func BenchmarkSubscribers(b *testing.B) {
	for _, n := range []int{0, 1, 10, 200} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				benchSubscribers(b, n)
			}
		})
	}
}

func benchSubscribers(b *testing.B, n int) {
	path, err := storetest.Find()
	if err != nil {
		b.Skip(err)
	}
	data, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer data.Close()
	dir := b.TempDir()
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(short)
	socket := filepath.Join(short, "s")
	r := &benchRecorder{b: b, data: data}
	r.open(dir)
	defer r.w.Close()
	for range 3 {
		r.second()
	}
	args := "serve\n" + dir + "\n--listen\nunix:" + socket
	if os.Geteuid() == 0 {
		args += "\n--user\nroot"
	}
	server := startSoaked(b, "TestSoakServer", soakServer+"="+args)
	defer server.kill()
	proof.WaitFor(b, func() bool { _, err := os.Stat(socket); return err == nil })

	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var mu sync.Mutex
	var late []time.Duration
	began := make(chan struct{}, n)
	for i := range n {
		tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
		tr.Protocols.SetUnencryptedHTTP2(true)
		svc := tachographv1connect.NewLiveServiceClient(&http.Client{Transport: tr}, "http://x", connect.WithGRPC())
		wg.Go(func() {
			stream, err := svc.Subscribe(ctx, connect.NewRequest(&tachographv1.SubscribeRequest{}))
			if err != nil {
				b.Error(err)
				return
			}
			defer tr.CloseIdleConnections()
			defer stream.Close()
			var d client.Decoder
			for first := true; stream.Receive(); first = false {
				now := time.Now()
				if i > 0 { // one decodes for all
					if first {
						began <- struct{}{}
					}
					continue
				}
				f, err := d.Add(stream.Msg())
				if err != nil {
					b.Error(err)
					return
				}
				if f != nil && f.Snapshot {
					began <- struct{}{}
				} else if f != nil {
					if at, ok := r.written.Load(f.Time.UnixNano()); ok {
						mu.Lock()
						late = append(late, now.Sub(at.(time.Time)))
						mu.Unlock()
					}
				}
			}
		})
	}
	for range n {
		<-began
	}
	const rate, seconds = 4, 60
	used := cpuOf(server.Process.Pid)
	most := 0
	pace := time.NewTicker(time.Second / rate)
	defer pace.Stop()
	for range seconds {
		<-pace.C
		r.second()
		most = max(most, soakSizeOf(server.Process.Pid).bytes)
	}
	used = cpuOf(server.Process.Pid) - used
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(used.Microseconds())/1000/seconds, "ms-cpu/s")
	b.ReportMetric(float64(most)/(1<<20), "MB")
	if mu.Lock(); len(late) > 0 {
		slices.Sort(late)
		b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-latency")
		b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms-latency-p99")
	}
	mu.Unlock()
}

// cpuOf is the processor time that a process has taken.
func cpuOf(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// A benchRecorder records a dataset.
type benchRecorder struct {
	b       *testing.B
	data    *storetest.Dataset
	clock   *proof.Clock
	w       *recording.Writer
	ahead   []*metric.Tick
	written sync.Map // when, by the wall clock of the tick
}

func (r *benchRecorder) next() []*metric.Tick {
	system, proc, err := r.data.Next()
	if err != nil {
		r.b.Fatal(err)
	}
	return []*metric.Tick{system, proc}
}

func (r *benchRecorder) open(dir string) {
	first := r.next()
	seen := make(map[string]*metric.Desc)
	var catalog []*metric.Desc
	var intervals metric.Intervals
	for _, t := range first {
		intervals[t.Class] = time.Second
		own := &metric.Tick{Class: t.Class, At: t.At}
		for _, bl := range t.Blocks {
			own.Blocks = append(own.Blocks, bl.Clone())
			for _, d := range bl.Group.Metrics {
				if seen[d.Name] == nil {
					seen[d.Name] = d
					catalog = append(catalog, d)
					intervals[d.Class] = time.Second
				}
			}
		}
		r.ahead = append(r.ahead, own)
	}
	r.clock = proof.NewClock(r.ahead[0].At)
	var err error
	r.w, err = recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: "h", Name: "workstation", OS: "Linux", Platform: "linux"},
		BootID: "b", Catalog: catalog, Intervals: intervals, Now: r.clock.Now})
	if err != nil {
		r.b.Fatal(err)
	}
}

// second records what was read in the next second.
func (r *benchRecorder) second() {
	list := r.ahead
	if r.ahead = nil; list == nil {
		list = r.next()
	}
	for _, t := range list {
		if len(t.Blocks) == 0 {
			continue
		}
		r.clock.Set(t.At)
		r.written.Store(t.At.Wall, time.Now())
		if err := r.w.Append(t); err != nil {
			r.b.Fatal(err)
		}
	}
}
