package pcplive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query/querytest"
)

const described = `start 2026-11-20T03:00:00Z
host web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux
interval static 2562047h
interval polled 1m
interval fast 1s
interval process 10s
metric hinv.pagesize u64 discrete - static byte
metric kernel.all.load f32 instant load fast
metric kernel.all.uptime u64 instant - polled sec
metric mem.util.available u64 instant - fast Kbyte
metric mem.physmem u64 discrete - static Kbyte
metric proc.psinfo.rss u64 instant process process Kbyte
metric computed.uptime_seconds i64 instant - polled sec
  formula kernel.all.uptime
metric pmcd.hostname string discrete - static
metric pmcd.pid u32 discrete - static
metric gpu.util u32 instant gpu polled
  unsupported there is no GPU
instance load 1 1 minute
instance load 5 5 minute
instance load 15 15 minute
instance process 1 000001 init pid=1
boot boot-1 -1h
tick static 0s
  hinv.pagesize 4096
  mem.physmem 1000
  pmcd.pid 5
tick polled 0s
  kernel.all.uptime 77
tick fast 0s
  kernel.all.load[1] 1
  kernel.all.load[5] 2
  kernel.all.load[15] 3
  mem.util.available 250
tick process 0s
  proc.psinfo.rss[1] 12
tick fast 1s
  kernel.all.load[1] 1.5
  kernel.all.load[5] 2
  kernel.all.load[15] 3
  mem.util.available 500
`

// A rig is a followed archive of which a test says what is recorded.
type rig struct {
	*Machine
	part  *querytest.Part
	known *catalogue.Known
	items chan archive.Item
	now   time.Time
	looks int
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

func partOf(t *testing.T, text string) *querytest.Part {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]
}

// newRig must be called in a bubble.
func newRig(t *testing.T) *rig { return newRigOf(t, described) }

func newRigOf(t *testing.T, text string) *rig {
	t.Helper()
	r := &rig{part: partOf(t, text), items: make(chan archive.Item, 100)}
	r.record(r.part)
	hub := live.NewHub(live.Options{Open: func(follow.Position) (live.Follower, error) { return r, nil }})
	go hub.Run(t.Context())
	r.now = r.part.Ticks[len(r.part.Ticks)-1].At.Time().Add(100 * time.Millisecond)
	r.Machine = New(Options{Hub: hub, Clock: func() time.Time { return r.now }, Version: "9", Known: func() (*catalogue.Known, error) {
		r.looks++
		return r.known, nil
	}})
	return r
}

// at has the clock say t once all that began before has been done: who looks in the
// background reads the clock too.
func (r *rig) at(t time.Time) {
	synctest.Wait()
	r.now = t
}

// record has what is described recorded, and known.
func (r *rig) record(p *querytest.Part) {
	synctest.Wait()
	r.known = &catalogue.Known{Catalogue: selection.New(&p.Info, p.Catalog), Info: &p.Info}
	for _, tick := range p.Ticks {
		r.items <- archive.Item{Archive: &p.Info, Tick: tick}
	}
	r.items <- archive.Item{Archive: &p.Info, Present: true}
}

func (r *rig) desc(t *testing.T, name string) *metric.Desc {
	t.Helper()
	for _, d := range r.Catalog().Descs {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// fetch tells values as they are printed, of the instances in order; and the reason
// where there are none.
func (r *rig) fetch(t *testing.T, names ...string) []string {
	t.Helper()
	var want []*metric.Desc
	for _, name := range names {
		want = append(want, r.desc(t, name))
	}
	v, err := r.Fetch(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range want {
		text := d.Name + ":"
		for _, b := range v.Blocks {
			if i := slices.Index(b.Group.Metrics, d); i >= 0 {
				for row := range b.Rows {
					text += " " + b.Cols[i].At(d.Type, row).String()
				}
			}
		}
		if why := v.Missing[d]; why != metric.Present {
			text += " (" + why.String() + ")"
		}
		got = append(got, text)
	}
	return got
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What is recorded is there as it was described, computed metrics in the type of their
// description; what this machine lacks is not.
func TestPresentValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.Catalog()
		if c.Host.Name != "web-1" || slices.ContainsFunc(c.Descs, func(d *metric.Desc) bool { return d.Name == "gpu.util" || d.Unsupported != "" }) {
			t.Errorf("%+v", c)
		}
		same(t, r.fetch(t, "kernel.all.load", "mem.util.available", "hinv.pagesize", "proc.psinfo.rss", "kernel.all.uptime", "computed.uptime_seconds", "pmcd.pid", "pmcd.hostname", "pmcd.timezone", "pmcd.version"),
			"kernel.all.load: 1.5 2 3", "mem.util.available: 500", "hinv.pagesize: 4096", "proc.psinfo.rss: 12", "kernel.all.uptime: 77", "computed.uptime_seconds: 77", "pmcd.pid: 5",
			"pmcd.hostname: web-1", "pmcd.timezone: UTC", "pmcd.version: Tachograph 9")
		ins, err := r.Instances(t.Context(), "load")
		if err != nil || len(ins) != 3 || ins[1].Key != "5" {
			t.Errorf("%v %v", ins, err)
		}
	})
}

// Who is given a value is told whose it is, also of a process that only the metrics know
// that are read more seldom.
func TestEachValueHasANamedInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOf(t, described[:strings.Index(described, "tick static")]+`metric proc.fd.count u32 instant process costly
interval costly 1m
instance process 2 000002 new pid=2
instance process 3 000003 old pid=3
tick process 2s
  proc.psinfo.rss[1] 12
tick costly 3s
  proc.fd.count[2] 7
  proc.fd.count[1] 8
  proc.fd.count[3] 9
tick process 12s
  proc.psinfo.rss[2] 12
  proc.psinfo.rss[1] 12
`)
		r.Catalog()
		synctest.Wait()
		listed := make(map[*metric.Instance]bool)
		ins, err := r.Instances(t.Context(), "process")
		if err != nil || len(ins) != 3 || ins[2].Key != "3" {
			t.Errorf("%v %v", ins, err)
		}
		for _, in := range ins {
			listed[in] = true
		}
		v, err := r.Fetch(t.Context(), []*metric.Desc{r.desc(t, "proc.psinfo.rss"), r.desc(t, "proc.fd.count")})
		if err != nil || len(v.Blocks) != 3 {
			t.Fatalf("%v %+v", err, v)
		}
		for _, b := range v.Blocks[1:] {
			for _, in := range b.Rows {
				if !listed[in] {
					t.Errorf("%s has a value of %v, who is not listed", b.Group.Name, in)
				}
			}
		}
	})
}

// What has missed three readings says no more how things stand, and comes back; what is
// read once holds as long as anything is read.
func TestOldValuesAreNotPresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		names := []string{"kernel.all.load", "proc.psinfo.rss", "kernel.all.uptime", "hinv.pagesize", "pmcd.hostname"}
		began := r.now
		for _, c := range []struct {
			after time.Duration
			lost  int // of names
		}{{4 * time.Second, 0}, {6 * time.Second, 1}, {31 * time.Second, 2}, {3*time.Minute + time.Second, 3}, {14 * time.Minute, 3}, {16 * time.Minute, 4}} {
			r.at(began.Add(c.after))
			for i, text := range r.fetch(t, names...) {
				if lost := strings.Contains(text, metric.TimedOut.String()); lost != (i < c.lost) {
					t.Errorf("after %v: %s", c.after, text)
				}
			}
		}
		if ins, err := r.Instances(t.Context(), "process"); len(ins) > 0 || err == nil {
			t.Errorf("of a quarter of an hour ago: %v %v", ins, err)
		}
		tick := *r.part.Ticks[len(r.part.Ticks)-1]
		block := *tick.Blocks[0]
		block.At.Wall, block.At.Cont = r.now.UnixNano(), tick.At.Cont+int64(16*time.Minute)
		tick.At, tick.Blocks = block.At, []*metric.Block{&block}
		r.items <- archive.Item{Archive: &r.part.Info, Tick: &tick}
		synctest.Wait()
		for i, text := range r.fetch(t, "kernel.all.load", "proc.psinfo.rss", "hinv.pagesize") {
			if lost := strings.Contains(text, metric.TimedOut.String()); lost != (i == 1) {
				t.Errorf("read again: %s", text)
			}
		}
	})
}

// A new archive that says the same is no news; one that says otherwise is, and what has
// not changed stays what it was.
func TestCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first, load := r.Catalog(), r.desc(t, "kernel.all.load")
		again := partOf(t, described)
		again.Info.ID, again.Info.BootID = "another", r.part.Info.BootID
		r.record(again)
		look := func() *pcpserve.Catalog {
			r.at(r.now.Add(2 * fresh))
			r.Catalog()
			synctest.Wait()
			return r.Catalog()
		}
		if look() != first {
			t.Error("an archive like the one before is told as another catalog")
		}
		looks := r.looks
		r.at(r.now.Add(fresh / 2))
		r.Catalog()
		synctest.Wait()
		if r.looks != looks {
			t.Error("it is looked each time")
		}
		r.record(partOf(t, strings.ReplaceAll(described, "mem.util.available u64 instant", "mem.util.available u64 discrete")))
		if look() == first || r.desc(t, "kernel.all.load") != load || r.desc(t, "mem.util.available").Sem != metric.Discrete {
			t.Error("another archive is not told")
		}
	})
}

// Who asks just when something is read is given that; what does not come at all keeps
// nobody waiting.
func TestWhatIsDueIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		last := r.part.Ticks[len(r.part.Ticks)-1]
		r.fetch(t, "kernel.all.load")
		took := func(after time.Duration) time.Duration {
			r.at(last.At.Time().Add(after))
			began := time.Now()
			r.fetch(t, "kernel.all.load", "hinv.pagesize")
			return time.Since(began)
		}
		for _, c := range []struct{ after, took time.Duration }{
			{970 * time.Millisecond, 0}, {990 * time.Millisecond, 210 * time.Millisecond}, {1100 * time.Millisecond, 100 * time.Millisecond}, {1300 * time.Millisecond, 0}, {-time.Minute, 0},
		} {
			if got := took(c.after); got != c.took {
				t.Errorf("after %v it took %v, want %v", c.after, got, c.took)
			}
		}
		tick := *last
		block := *last.Blocks[0]
		block.At.Wall += int64(time.Second)
		tick.At, tick.Blocks = block.At, []*metric.Block{&block}
		time.AfterFunc(50*time.Millisecond, func() { r.items <- archive.Item{Archive: &r.part.Info, Tick: &tick} })
		if got := took(1050 * time.Millisecond); got != 50*time.Millisecond {
			t.Errorf("it took %v to have what was read 50 ms later", got)
		}
	})
}

// A recorder that was told to read more seldom is believed once that is found out, which
// is soon; one that was stopped is not asked again and again what it says.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fetch(t, "kernel.all.load")
		slower := r.part.Info
		slower.Intervals[metric.Fast] = 30 * time.Second
		synctest.Wait()
		r.known = &catalogue.Known{Catalogue: selection.New(&slower, r.part.Catalog), Info: &slower}
		r.at(r.now.Add(10 * time.Second))
		same(t, r.fetch(t, "kernel.all.load"), "kernel.all.load: (timed out)")
		r.Catalog()
		synctest.Wait()
		same(t, r.fetch(t, "kernel.all.load"), "kernel.all.load: 1.5 2 3")
		r.at(r.now.Add(2 * time.Minute))
		r.Catalog()
		synctest.Wait()
		r.fetch(t, "kernel.all.load")
		r.at(r.now.Add(10 * time.Second))
		r.Catalog()
		synctest.Wait()
		looks := r.looks
		for range 5 {
			r.at(r.now.Add(10 * time.Second))
			r.fetch(t, "kernel.all.load")
			r.Catalog()
			synctest.Wait()
		}
		if r.looks != looks {
			t.Errorf("it was looked %d times in 50 s", r.looks-looks)
		}
	})
}

// Of another boot nothing holds any more, and who asks is told that labels changed.
func TestAnotherBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first := r.Catalog()
		r.fetch(t, "kernel.all.load")
		text := described[:strings.Index(described, "tick static")]
		next := partOf(t, strings.Replace(text, "boot boot-1 -1h", "boot boot-2 59m", 1)+"tick fast 60m\n  mem.util.available 9\n")
		next.Info.ID = "another"
		r.record(next)
		r.at(r.now.Add(time.Hour))
		r.Catalog()
		synctest.Wait()
		if r.Catalog() == first {
			t.Error("the labels are those of the boot before")
		}
		same(t, r.fetch(t, "mem.util.available", "kernel.all.load", "proc.psinfo.rss"),
			"mem.util.available: 9", "kernel.all.load: (not read)", "proc.psinfo.rss: (not read)")
	})
}

// Where nothing is recorded there is nothing, and who asks does not wait for ever.
func TestNothingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{
			Hub:   live.NewHub(live.Options{}),
			Known: func() (*catalogue.Known, error) { return nil, errors.New("the disk is gone") },
		})
		if c := m.Catalog(); len(c.Descs) != 0 {
			t.Errorf("%v", c)
		}
		if v, err := m.Fetch(t.Context(), nil); err != nil || len(v.Blocks) != 0 {
			t.Errorf("%v %v", v, err)
		}
	})
}
