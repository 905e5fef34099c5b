package playback

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
	"tachograph/store/rewrite"
)

// script is a machine that sleeps, is not recorded for a while, is started again, and whose
// clock is set back.
const script = `
start 2026-11-20T03:00:00Z
interval fast 1s
interval process 5s
interval polled 10s
host web-1 os=Linux release=6.18 arch=amd64 platform=linux zone=Europe/Berlin
metric hinv.ncpu u32 discrete - static
metric mem.physmem u64 discrete - static Kbyte
metric mem.util.used u64 instant - fast Kbyte
metric disk.all.total u64 counter - fast count
metric swap.used u64 instant - polled byte
metric proc.memory.rss u64 instant process process Kbyte
instance process 10/1 000010 old
instance process 11/1 000011 young
boot b1 -1h
tick static 0s
  hinv.ncpu 8
  mem.physmem 1000
every 1s 0s 60s fast
  mem.util.used level=100 drift=1
  disk.all.total rate=10 from=0
every 10s 0s 60s polled
  swap.used 5
every 5s 0s 25s process
  proc.memory.rss[10/1] level=7
every 5s 30s 60s process
  proc.memory.rss[11/1] level=8
event 61s sleep | the machine went to sleep
event 10m wake | the machine woke | from=2026-11-20T03:01:01Z seconds=539
every 1s 600s 630s fast
  mem.util.used level=500
event 660s gap | the recorder did not run for 30s | from=2026-11-20T03:10:30Z seconds=30
every 1s 660s 700s fast
  mem.util.used level=600
boot b2 800s
every 1s 810s 830s fast
  mem.util.used level=700
`

// archives writes what a script describes into a directory, an archive a boot.
func archives(t *testing.T, text string) string {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, p := range parts {
		about := rewrite.About{Host: p.Info.Host, Boot: p.Info.BootID, TimeZone: p.Info.TimeZone, Intervals: p.Info.Intervals, Catalog: p.Catalog}
		w, err := rewrite.Create(filepath.Join(dir, fmt.Sprint(i, ".tacho")), about)
		if err != nil {
			t.Fatal(err)
		}
		for _, tick := range p.Ticks {
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		for k := range p.Events {
			if err := w.Event(&p.Events[k]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	// What decodes is made once in a process, and not in the time of a test.
	for _, err := range rewrite.Read(rewrite.ReadOptions{}, dir) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// at is a wall clock of the script.
func at(offset time.Duration) int64 {
	return time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).Add(offset).UnixNano()
}

// A theatre is where something is played, in the time of a test.
type theatre struct {
	*Player
	t *testing.T
}

// now is the present position.
func (th *theatre) now() time.Duration {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.Player.now()
}

// play plays a script, and fn looks on. Time passes only there.
func play(t *testing.T, text string, opt Options, fn func(th *theatre)) {
	dir := archives(t, text)
	synctest.Test(t, func(t *testing.T) {
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Host(r, "")
		if err != nil {
			t.Fatal(err)
		}
		opt.Host = h.ID
		p, err := New(opt, r, dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		fn(&theatre{p, t})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.Close()
	})
}

// pass lets time pass.
func (th *theatre) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// desc is the catalogue's description of a metric.
func (th *theatre) desc(name string) *metric.Desc {
	th.t.Helper()
	list := th.Catalog().Descs
	i := slices.IndexFunc(list, func(d *metric.Desc) bool { return d.Name == name })
	if i < 0 {
		th.t.Fatalf("there is no %s", name)
	}
	return list[i]
}

// see is how a metric stands: "name=value ...", or why it does not.
func (th *theatre) see(name string) string {
	th.t.Helper()
	d := th.desc(name)
	v, err := th.Fetch(context.Background(), []*metric.Desc{d})
	if err != nil {
		th.t.Fatal(err)
	}
	return shown(v, d)
}

func shown(v *pcpserve.View, d *metric.Desc) string {
	if why, missing := v.Missing[d]; missing {
		return why.String()
	}
	var list []string
	for _, b := range v.Blocks {
		c := slices.Index(b.Group.Metrics, d)
		if c < 0 {
			continue
		}
		for i, in := range b.Rows {
			text := b.Cols[c].At(d.Type, i).String()
			if in != nil {
				text = in.Name + "=" + text
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, " ")
}

func (th *theatre) want(name, want string) {
	th.t.Helper()
	if got := th.see(name); got != want {
		th.t.Errorf("at %v %s is %q, want %q", th.now(), name, got, want)
	}
}

func TestPlay(t *testing.T) {
	const none = "not read"
	play(t, script, Options{Speed: 1}, func(th *theatre) {
		th.want("hinv.ncpu", "8")
		th.want("mem.util.used", "100")
		th.want("computed.memory_utilization_pct", "10")
		th.want("proc.memory.rss", "000010 old=7")
		th.pass(20500 * time.Millisecond)
		th.want("mem.util.used", "120")
		th.want("disk.all.total", "200")
		th.want("computed.memory_utilization_pct", "12")
		th.pass(15 * time.Second) // the other process is there instead
		th.want("proc.memory.rss", "000011 young=8")
		if list, err := th.Instances(context.Background(), "process"); err != nil || len(list) != 1 || list[0].Key != "11/1" {
			t.Errorf("processes: %v %v", list, err)
		}
		th.pass(25 * time.Second) // 60.5 s
		th.want("mem.util.used", "160")
		th.pass(time.Second) // asleep
		for _, name := range []string{"mem.util.used", "hinv.ncpu", "swap.used", "proc.memory.rss", "computed.memory_utilization_pct"} {
			th.want(name, none)
		}
		if list, err := th.Instances(context.Background(), "process"); err != nil || len(list) != 0 {
			t.Errorf("processes in sleep: %v %v", list, err)
		}
		th.pass(530 * time.Second)
		th.want("mem.util.used", none)
		th.pass(9 * time.Second) // 600.5 s: awake
		th.want("mem.util.used", "500")
		th.want("hinv.ncpu", "8") // that never changes in a boot
		th.want("swap.used", none)
		th.want("proc.memory.rss", none)
		th.pass(31 * time.Second) // 631.5 s: not recorded
		th.want("mem.util.used", none)
		th.want("hinv.ncpu", none)
		th.pass(30 * time.Second)
		th.want("mem.util.used", "600")
		th.pass(60 * time.Second) // 721.5 s: off
		th.want("mem.util.used", none)
		th.pass(100 * time.Second) // 821.5 s: another boot
		th.want("mem.util.used", "700")
		th.want("hinv.ncpu", none)
		th.pass(20 * time.Second) // over
		th.want("mem.util.used", none)
		th.pass(24 * time.Hour)
		th.want("mem.util.used", none)
	})
}

func TestBeginning(t *testing.T) {
	// What was read before the beginning stands there, and rates are known.
	play(t, script, Options{Speed: 1, From: at(45500 * time.Millisecond)}, func(th *theatre) {
		th.want("mem.util.used", "145")
		th.want("swap.used", "5")
		th.want("hinv.ncpu", "8")
		th.want("proc.memory.rss", "000011 young=8")
		th.want("computed.memory_utilization_pct", "14.499999999999998")
	})
	// In a gap there is nothing until it is over.
	play(t, script, Options{Speed: 1, From: at(5 * time.Minute)}, func(th *theatre) {
		th.want("mem.util.used", "not read")
		th.pass(301 * time.Second)
		th.want("mem.util.used", "500")
		th.want("hinv.ncpu", "8")
	})
	play(t, script, Options{Speed: 1, From: at(-time.Minute)}, func(th *theatre) {
		th.want("mem.util.used", "not read")
		th.pass(61500 * time.Millisecond)
		th.want("mem.util.used", "101")
	})
}

func TestSpeed(t *testing.T) {
	play(t, script, Options{Speed: 60}, func(th *theatre) {
		began := time.Now()
		th.pass(505 * time.Millisecond)
		th.want("mem.util.used", "130")
		v, err := th.Fetch(context.Background(), []*metric.Desc{th.desc("mem.util.used")})
		if want := began.Add(30300 * time.Millisecond); err != nil || !v.At.Time().Equal(want) {
			t.Errorf("%v, want time to pass as fast, to %v: %v", v.At.Time().UTC(), want, err)
		}
	})
	play(t, script, Options{Speed: 0.1}, func(th *theatre) {
		th.pass(105 * time.Second)
		th.want("mem.util.used", "110")
	})
	play(t, script, Options{Speed: 0, From: at(30500 * time.Millisecond)}, func(th *theatre) {
		for range 3 {
			th.want("mem.util.used", "130")
			th.want("proc.memory.rss", "000011 young=8")
			th.pass(24 * time.Hour)
		}
	})
	// Faster than can be told: all of it at once.
	play(t, script, Options{Speed: 1e6}, func(th *theatre) {
		th.pass(time.Second)
		th.want("mem.util.used", "not read")
	})
}

func TestEnd(t *testing.T) {
	play(t, script, Options{Speed: 1, To: at(20 * time.Second)}, func(th *theatre) {
		th.pass(20500 * time.Millisecond)
		th.want("mem.util.used", "120")
		th.pass(5 * time.Second)
		th.want("mem.util.used", "not read")
	})
	play(t, script, Options{Speed: 1, To: at(20 * time.Second), Loop: true}, func(th *theatre) {
		began := time.Now()
		for round := range 3 {
			v, err := th.Fetch(context.Background(), []*metric.Desc{th.desc("mem.util.used")})
			if want := began.Add(time.Duration(round) * 22 * time.Second); err != nil || v.At.Time().Before(want) || v.At.Time().After(want.Add(time.Second)) {
				t.Errorf("round %d: time is %v %v", round, v.At.Time().UTC(), err)
			}
			th.want("mem.util.used", "100")
			th.pass(10500 * time.Millisecond)
			th.want("mem.util.used", "110")
			th.want("computed.memory_utilization_pct", "11")
			th.pass(11600 * time.Millisecond)
		}
	})
}

// A clock that is set back does not have an hour pass at once, nor one that is set ahead
// keep anybody waiting.
func TestClockSteps(t *testing.T) {
	const head = "start 2026-11-20T03:00:00Z\ninterval fast 1s\nhost h os=Linux platform=linux\nmetric m u64 instant - fast\nboot b -1h\nevery 1s 0s 30s fast\n  m level=0 drift=1\n"
	for _, step := range []string{"-1h", "1h"} {
		play(t, head+"clock "+step+"\nevery 1s 31s 60s fast\n  m level=100 drift=1\n", Options{Speed: 1}, func(th *theatre) {
			th.pass(30500 * time.Millisecond)
			th.want("m", "30")
			th.pass(time.Second)
			th.want("m", "100")
			th.pass(time.Second)
			th.want("m", "101")
		})
	}
}

// What was of another type once is not told as what it is now.
func TestOtherType(t *testing.T) {
	const text = `
start 2026-11-20T03:00:00Z
interval fast 1s
host h os=Linux platform=linux
metric m string instant - fast
metric n u64 instant - fast
boot a -1h
every 1s 0s 9s fast
  m "text"
  n level=1
`
	const later = `
start 2026-11-20T03:00:10Z
interval fast 1s
host h os=Linux platform=linux
metric m u64 instant - fast
metric n u64 instant - fast
boot b -1s
every 1s 0s 10s fast
  m level=5
  n level=2
`
	dir, more := archives(t, text), archives(t, later)
	synctest.Test(t, func(t *testing.T) {
		r, err := Open(dir, more)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Host(r, "H")
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(Options{Host: h.ID, Speed: 1}, r, dir, more)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		th := &theatre{p, t}
		th.pass(time.Second)
		v, err := th.Fetch(ctx, []*metric.Desc{th.desc("m"), th.desc("n")})
		if err != nil || shown(v, th.desc("m")) != "not read" || shown(v, th.desc("n")) != "1" {
			t.Errorf("%q %q %v", shown(v, th.desc("m")), shown(v, th.desc("n")), err)
		}
		th.pass(15 * time.Second)
		th.want("m", "5")
		cancel()
		<-ended
		p.Close()
	})
}

func TestHost(t *testing.T) {
	const one = "start 2026-11-20T03:00:00Z\ninterval fast 1s\nhost h1 id=A os=Linux platform=linux\nmetric m u64 instant - fast\nboot a -1h\nevery 1s 0s 9s fast\n  m level=1\n"
	r, err := Open(archives(t, one), archives(t, strings.ReplaceAll(one, "h1 id=A", "h2 id=B")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, c := range []struct{ name, id, wrong string }{
		{"", "", "choose it with --host (h1, h2)"}, {"h2", "B", ""}, {"H1", "A", ""}, {"A", "A", ""}, {"h3", "", `no host is called "h3"; these archives are of h1, h2`},
	} {
		h, err := Host(r, c.name)
		if h.ID != c.id || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %s %v", c.name, h.ID, err)
		}
	}
}
