package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/patience"
)

// The environment of a test binary that is a recorder, or a server, of the soak.
const (
	soakRecorder = "TACHO_SOAK_RECORDER" // directory
	soakBoot     = "TACHO_SOAK_BOOT"
	soakBegan    = "TACHO_SOAK_BEGAN" // when the machine was switched on
	soakServer   = "TACHO_SOAK_SERVER"
)

// soakRate is how many seconds of the machine pass in one.
const soakRate = 10

// TestSoakRecorder is the recorder of TestSoak when its environment says so. It
// turns to another archive every few seconds, and ends with its input.
func TestSoakRecorder(t *testing.T) {
	dir := os.Getenv(soakRecorder)
	if dir == "" {
		return
	}
	began, _ := strconv.ParseInt(os.Getenv(soakBegan), 10, 64)
	m := storetest.NewMachine(1)
	m.Processes = 30
	second := func() int { return int(time.Since(time.Unix(0, began)) * soakRate / time.Second) }
	n := second() + 1 // this one may have been recorded
	clock := proof.NewClock(m.At(n))
	opt := recorded.ProofOptions(dir, 1, clock.Now)
	opt.BootID = os.Getenv(soakBoot)
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	pace := time.NewTicker(time.Second / soakRate)
	for {
		select {
		case <-ended:
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return
		case <-pace.C:
		}
		for ; n <= second(); n++ {
			clock.Set(m.At(n))
			for _, tick := range m.Ticks(n) {
				if err := w.Append(tick); err != nil {
					t.Fatal(err)
				}
			}
			if e, ok := m.Event(n); ok {
				if err := w.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			if n%(15*soakRate) == 0 {
				if _, err := w.Rotate("test"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSoakServer is the server of TestSoak: replay serve.
func TestSoakServer(t *testing.T) {
	if args := os.Getenv(soakServer); args != "" {
		a := newApp(os.Stdout, os.Stderr, time.Now)
		a.collector = &collector{}
		os.Exit(a.run(strings.Split(args, "\n")))
	}
}

// A soaked process is a recorder or the server.
type soaked struct {
	*exec.Cmd
	in io.Closer
}

func startSoaked(t testing.TB, test string, env ...string) *soaked {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^"+test+"$", "-test.timeout", "0")
	c.Env = append(os.Environ(), env...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return &soaked{c, in}
}

func (s *soaked) kill() {
	_ = s.Process.Signal(syscall.SIGKILL)
	_ = s.Wait()
}

// A soakForm is for how long TestSoak soaks at least, with how many clients, how
// many frames a client takes at most before it comes again, and how long what they
// call a second is.
type soakForm struct {
	length          time.Duration
	clients, frames int
	second          time.Duration
}

func soakFormOf(t *testing.T) soakForm {
	form := soakForm{10 * time.Minute, 200, 250, time.Second}
	switch d, err := time.ParseDuration(os.Getenv("TACHO_SOAK_FOR")); {
	case err == nil:
		form.length = d
	case proof.Long():
	case testing.Short():
		t.Skip("takes some seconds")
	default:
		form = soakForm{4 * time.Second, 40, 20, min(patience.Stretch(75*time.Millisecond), time.Second)}
	}
	return form
}

// Two hundred subscribers come, go, stall and come back, while the recorder is
// killed, restarted, turned and rebooted. What each was told, by as many streams as
// it took, is what was recorded, value by value; the server's memory and
// descriptors do not grow.
func TestSoak(t *testing.T) {
	t.Parallel()
	form := soakFormOf(t)
	dir := t.TempDir()
	socket := filepath.Join(t.TempDir(), "s")
	rnd := rand.New(rand.NewPCG(1, 1))
	began := strconv.FormatInt(time.Now().UnixNano(), 10)
	boot := 1
	record := func() *soaked {
		return startSoaked(t, "TestSoakRecorder", soakRecorder+"="+dir, soakBegan+"="+began, soakBoot+"="+fmt.Sprint("boot ", boot))
	}
	recorder := record()
	until(t, "there is an archive", func() bool { _, err := store.Open(dir); return err == nil })
	args := "serve\n" + dir + "\n--listen\nunix:" + socket
	if os.Geteuid() == 0 {
		args += "\n--user\nroot" // who alone may read the directory
	}
	server := startSoaked(t, "TestSoakServer", soakServer+"="+args)
	defer server.kill()
	until(t, "it serves", func() bool { _, err := os.Stat(socket); return err == nil })

	clients := make([]*soakClient, form.clients)
	var wg sync.WaitGroup
	for i := range clients {
		c := newSoakClient(i, socket, form)
		clients[i] = c
		wg.Go(c.run)
	}
	var sizes []soakSize
	kills, boots := 0, 0
	enough := patience.Context(t, form.length+time.Minute)
	for end := time.Now().Add(form.length); time.Now().Before(end) || !allTold(clients) && enough.Err() == nil; {
		pause := time.NewTimer(time.Duration(1+rnd.IntN(8)) * form.second)
		for waiting := true; waiting; {
			look := time.NewTimer(time.Second)
			select {
			case <-pause.C:
				waiting = false
			case <-look.C:
				sizes = append(sizes, soakSizeOf(server.Process.Pid))
			}
			look.Stop()
		}
		switch k := rnd.IntN(4); k {
		case 0: // restarted
			recorder.in.Close()
			if err := recorder.Wait(); err != nil {
				t.Fatal("the recorder ended with ", err)
			}
			recorder = record()
		default: // killed; and rebooted
			recorder.kill()
			kills++
			if k == 3 {
				boots++
				boot++
			}
			recorder = record()
		}
	}
	for _, c := range clients {
		c.finish()
	}
	wg.Wait()
	recorder.in.Close()
	if err := recorder.Wait(); err != nil {
		t.Fatal(err)
	}
	last := soakSizeOf(server.Process.Pid)
	for gone := patience.Context(t, time.Minute); last.files > soakIdle && gone.Err() == nil; last = soakSizeOf(server.Process.Pid) {
		<-time.After(5 * time.Millisecond)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Error("the server ended with", err)
	}
	want := make(map[string]map[soakReading]uint64)
	streams, merged, told := 0, 0, 0
	for _, c := range clients {
		k := c.kind.name
		if want[k] == nil {
			want[k] = soakRecorded(t, dir, c.kind)
		}
		c.compare(t, want[k])
		streams, merged, told = streams+c.streams, merged+c.merged, told+len(c.readings)
	}
	t.Logf("%d streams of %d clients, %d readings told, %d frames merged and asked for again; %d kills, %d boots", streams, len(clients), told, merged, kills, boots)
	checkSizes(t, form, sizes, last)
}

// A soakSize is what a process takes.
type soakSize struct{ bytes, files int }

// soakSizeOf looks at a process; nothing where that cannot be done.
func soakSizeOf(pid int) (s soakSize) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if f := strings.Fields(rest); len(f) > 0 {
		s.bytes, _ = strconv.Atoi(f[0])
		s.bytes <<= 10
	}
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	s.files = len(list)
	return s
}

// soakIdle is how many descriptors a server without clients has at most.
const soakIdle = 30

func checkSizes(t *testing.T, form soakForm, sizes []soakSize, last soakSize) {
	if runtime.GOOS != "linux" {
		return
	}
	if last.files > soakIdle {
		t.Errorf("%d descriptors are left", last.files)
	}
	if form.length < 20*time.Second || len(sizes) < 12 {
		return // the clients are still coming
	}
	most := func(list []soakSize) (m soakSize) {
		for _, s := range list {
			m.bytes, m.files = max(m.bytes, s.bytes), max(m.files, s.files)
		}
		return m
	}
	early, late := most(sizes[len(sizes)/4:len(sizes)/2]), most(sizes[len(sizes)*3/4:])
	t.Logf("memory: at most %d MB in the second quarter, %d in the last; descriptors: %d, %d, and %d when all had gone",
		early.bytes>>20, late.bytes>>20, early.files, late.files, last.files)
	if late.bytes > early.bytes*5/4+8<<20 {
		t.Errorf("memory grows: %d MB, then %d", early.bytes>>20, late.bytes>>20)
	}
	if late.files > early.files+50 {
		t.Errorf("descriptors grow: %d, then %d", early.files, late.files)
	}
}

// A soakKind is what a client asks for.
type soakKind struct {
	name               string
	metrics, instances []string
	accepts            func(indom, key string) bool
	wantsMetric        func(string) bool
}

var soakKinds = []soakKind{
	{name: "everything", wantsMetric: func(string) bool { return true }},
	{name: "system", metrics: []string{"test.kernel", "test.limits"}, wantsMetric: func(m string) bool {
		return strings.HasPrefix(m, "test.kernel.") || strings.HasPrefix(m, "test.limits.")
	}},
	{name: "processes", metrics: []string{"test.proc"}, wantsMetric: func(m string) bool { return strings.HasPrefix(m, "test.proc.") }},
	{name: "one disk", metrics: []string{"test.disk.*"}, instances: []string{"disk0"},
		wantsMetric: func(m string) bool { return strings.HasPrefix(m, "test.disk.") },
		accepts:     func(_, key string) bool { return key == "disk0" }},
}

// A soakReading is a table that was read at some instant.
type soakReading struct {
	table string
	wall  int64
}

// soakHash is what a value adds to the hash of its reading.
func soakHash(metric, key, value, absent string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, metric, "\x00", key, "\x00", value, "\x00", absent)
	return h.Sum64()
}

// soakTable is what the metrics of a table have in common.
func soakTable(metric string) string { return metric[:strings.LastIndexByte(metric, '.')] }

// soakRecorded is what was recorded of a kind.
func soakRecorded(t *testing.T, dir string, k soakKind) map[soakReading]uint64 {
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := make(map[soakReading]uint64)
	for run := range r.Select(store.Selection{}) {
		key := ""
		if run.Instance != nil {
			key = run.Instance.Key
		}
		if !k.wantsMetric(run.Metric.Name) || k.accepts != nil && !k.accepts(run.Metric.Indom, key) {
			continue
		}
		col := metric.Column{Bits: run.Bits, Words: run.Words, Miss: run.Miss}
		for i, wall := range run.Wall {
			v := col.At(run.Metric.Type, i)
			miss := ""
			if v.Miss != metric.Present {
				miss = v.Miss.String()
			}
			all[soakReading{soakTable(run.Metric.Name), wall}] += soakHash(run.Metric.Name, key, v.String(), miss)
		}
	}
	return all
}

// A soakClient comes, goes, stalls and comes back.
type soakClient struct {
	id       int
	kind     soakKind
	rnd      *rand.Rand
	socket   string
	ctx      context.Context
	cancel   context.CancelFunc
	ending   chan struct{}
	position string
	first    int64                  // wall clock of the first snapshot
	readings map[soakReading]uint64 // since then
	wrong    []string
	streams  int
	merged   int
	form     soakForm
	told     atomic.Bool // something
}

// allTold reports whether each client has been told something.
func allTold(clients []*soakClient) bool {
	return !slices.ContainsFunc(clients, func(c *soakClient) bool { return !c.told.Load() })
}

func newSoakClient(id int, socket string, form soakForm) *soakClient {
	c := &soakClient{form: form, id: id, kind: soakKinds[id%len(soakKinds)], rnd: rand.New(rand.NewPCG(uint64(id), 5)), socket: socket,
		ending: make(chan struct{}), readings: make(map[soakReading]uint64)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *soakClient) finish() { close(c.ending) }

// pause pauses for so many seconds at most.
func (c *soakClient) pause(most int64) {
	timer := time.NewTimer(time.Duration(c.rnd.Int64N(most * int64(c.form.second))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ending:
	}
}

func (c *soakClient) over() bool {
	select {
	case <-c.ending:
		return true
	default:
		return false
	}
}

// errLeft ends a stream that the client leaves.
var errLeft = errors.New("enough")

func (c *soakClient) run() {
	c.pause(3)
	for !c.over() {
		if err := c.visit(); err != nil && !errors.Is(err, errLeft) && connect.CodeOf(err) != connect.CodeUnavailable {
			c.wrong = append(c.wrong, err.Error())
			if len(c.wrong) > 5 {
				return
			}
		}
		if c.rnd.IntN(3) == 0 {
			c.pause(4)
		}
	}
}

// visit is one stream.
func (c *soakClient) visit() error {
	var conn net.Conn
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (_ net.Conn, err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", c.socket)
		return conn, err
	}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	tr.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 32 << 10} // else what a client has no time for is buffered
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	svc := tachographv1connect.NewLiveServiceClient(&http.Client{Transport: tr}, "http://x", connect.WithGRPC())
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	stream, err := svc.Subscribe(ctx, connect.NewRequest(&tachographv1.SubscribeRequest{
		Selection: &tachographv1.Selection{Metrics: c.kind.metrics, Instances: c.kind.instances},
		Position:  c.position, ExactTimes: true, Heartbeat: durationpb.New(time.Second),
	}))
	if err != nil {
		return err
	}
	defer stream.Close()
	defer cancel()
	c.streams++
	var d client.Decoder
	frames := 1 + c.rnd.IntN(c.form.frames)
	for stream.Receive() {
		f, err := d.Add(stream.Msg())
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if f.Merged > 0 {
			c.merged += int(f.Merged)
			return errLeft // and comes back for what was merged
		}
		c.take(f)
		switch frames--; {
		case c.over(), frames == 0:
			return errLeft
		case c.rnd.IntN(100) == 0:
			c.pause(4) // stalls
		case c.id%20 == 0 && c.rnd.IntN(40) == 0:
			c.pause(15) // for so long that frames are merged
		}
	}
	return stream.Err()
}

// take notes what was read.
func (c *soakClient) take(f *client.Frame) {
	if c.position == "" {
		c.first = f.Time.UnixNano() + 1e6
	}
	for _, rd := range f.Readings {
		sum := uint64(0)
		for _, row := range rd.Table.Rows {
			for i := range rd.Table.Metrics {
				m := &rd.Table.Metrics[i]
				sum += soakHash(m.Name, row.Instance.GetKey(), m.Format(row.Values[i]), row.Values[i].Absent)
			}
		}
		if len(rd.Table.Rows) == 0 {
			continue
		}
		at := soakReading{soakTable(rd.Table.Metrics[0].Name), rd.Time.UnixNano()}
		if old, ok := c.readings[at]; ok && (!f.Snapshot || old != sum) {
			c.wrong = append(c.wrong, fmt.Sprintf("%+v is told twice (%x, %x, snapshot %v)", at, old, sum, f.Snapshot))
		}
		c.readings[at] = sum
	}
	c.position = f.Position
	if len(c.readings) > 0 {
		c.told.Store(true)
	}
}

// compare compares what was told with what was recorded.
func (c *soakClient) compare(t *testing.T, want map[soakReading]uint64) {
	last := make(map[string]int64)
	for at, sum := range c.readings {
		last[at.table] = max(last[at.table], at.wall)
		if want[at] != sum {
			c.wrong = append(c.wrong, fmt.Sprintf("%+v is told otherwise than recorded", at))
		}
	}
	for at := range want {
		if _, ok := c.readings[at]; !ok && at.wall > c.first && at.wall < last[at.table] {
			c.wrong = append(c.wrong, fmt.Sprintf("%+v is not told", at))
		}
	}
	if len(c.readings) == 0 {
		c.wrong = append(c.wrong, "nothing was told")
	}
	if len(c.wrong) > 0 {
		t.Errorf("client %d, %s, %d streams: %d mistakes, as %s", c.id, c.kind.name, c.streams, len(c.wrong), c.wrong[0])
	}
}
