package follow_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest"
)

// followEnv is the directory that this program follows, as a process of its own, when
// it is set: until its standard input ends.
const followEnv = "TACHO_TEST_FOLLOW"

func TestMain(m *testing.M) {
	alone := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(followEnv); dir != "" {
		alone(followAlone(dir))
	}
	if arg := os.Getenv(recordEnv); arg != "" {
		dir, n, _ := strings.Cut(arg, ":")
		items, _ := strconv.Atoi(n)
		alone(recordAlone(dir, items))
	}
	os.Exit(m.Run())
}

// A report is what a process that followed says of itself.
type report struct {
	Ticks, Values int
	Late          []time.Duration // of each tick, from before it was handed to the writer
	CPU           time.Duration   // since all that was there had been read
	Waits         int64           // how often it went to sleep since then
	Peak          int64           // kilobytes
	Open          time.Duration
}

func spent() (cpu time.Duration, waits, peak int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	peak = u.Maxrss / 1024
	// On Linux that is at least what the process that started this one had.
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		_, line, _ := strings.Cut(string(b), "VmHWM:")
		_, _ = fmt.Sscan(line, &peak)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw, peak
}

// followAlone is the program of a process that follows dir.
func followAlone(dir string) error {
	began := time.Now()
	f, err := follow.Open(follow.Options{Standing: true}, dir)
	if err != nil {
		return err
	}
	defer f.Close()
	r := report{Open: time.Since(began)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var cpu time.Duration
	var waits int64
	ready := false
	for {
		it, err := f.Next(ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		switch {
		case err != nil:
			return err
		case it.Lost != nil:
			return it.Lost
		case it.Present && !ready:
			ready = true
			cpu, waits, _ = spent()
			fmt.Println("ready")
		case it.Tick != nil && ready:
			r.Late = append(r.Late, time.Duration(time.Now().UnixNano()-it.Tick.At.Wall))
			r.Ticks++
			r.Values += it.Tick.Values()
		}
	}
	now, slept, peak := spent()
	r.CPU, r.Waits, r.Peak = now-cpu, slept-waits, peak
	return json.NewEncoder(os.Stdout).Encode(r)
}

// A crowd is processes that follow.
type crowd struct {
	cmds []*exec.Cmd
	ins  []io.Closer
	outs []*bufio.Reader
}

func newCrowd(b *testing.B, n int, dir string) *crowd {
	c := &crowd{}
	for range n {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), followEnv+"="+dir)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that no process keeps the priority of prefer
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, 0)
		c.cmds, c.ins, c.outs = append(c.cmds, cmd), append(c.ins, in), append(c.outs, bufio.NewReader(out))
	}
	for _, out := range c.outs {
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			b.Fatal(line, err)
		}
	}
	return c
}

// prefer gives this program the priority that a recorder has by default (budget.nice), if it may
// have it. Without that, the longest Append is the time for which the writer waits for a
// processor while all others decode.
func prefer(b *testing.B) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Logf("the writer has the priority of the others: %v", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = syscall.Setpriority(syscall.PRIO_PROCESS, id, -15)
		}
		if err != nil {
			b.Logf("the writer has the priority of the others: %v", err)
			return
		}
	}
}

func (c *crowd) end(b *testing.B) (list []report) {
	for i, cmd := range c.cmds {
		c.ins[i].Close()
		var r report
		if err := json.NewDecoder(c.outs[i]).Decode(&r); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// BenchmarkFollowing records 400 processes with 40 metrics each five seconds and 2000
// other series each second, ten times as fast as that, beside so many processes that
// follow. It has a recorder's priority. It says of the writer what it gave to write(2) and synced, and how long the
// longest Append took; and of one who follows what it costs of a processor in the time
// that was recorded, its peak of memory, how often it slept for each tick, and how
// late ticks came.
func BenchmarkFollowing(b *testing.B) {
	const faster = 10
	const seconds = 120
	for _, followers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("followers=%d", followers), func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				l := storetest.NewLoad(400, 40, 5, 2000)
				var passed atomic.Int64 // each run turns and commits at the same ticks
				now := func() metric.Stamp {
					up := passed.Load() + 86400e9
					return metric.Stamp{Wall: time.Now().UnixNano(), Awake: up, Cont: up}
				}
				w, err := recording.Create(recording.Options{
					Dir: dir, BootID: "b", Host: metric.Host{ID: "h", Name: "host"}, Catalog: l.Catalog(), Now: now, Sync: time.Second / faster,
				})
				if err != nil {
					b.Fatal(err)
				}
				longest := time.Duration(0)
				second := func() int {
					passed.Add(1e9)
					_, ticks := l.Next()
					for _, t := range ticks {
						t.At = now()
						for _, blk := range t.Blocks {
							blk.At = t.At
						}
						began := time.Now()
						if err := w.Append(t); err != nil {
							b.Fatal(err)
						}
						longest = max(longest, time.Since(began))
					}
					return len(ticks)
				}
				for range 5 {
					second()
				}
				c := newCrowd(b, followers, dir)
				before, ticks := w.Status(), 0
				longest = 0
				prefer(b)
				each := time.NewTicker(time.Second / faster)
				for range seconds {
					<-each.C
					ticks += second()
				}
				each.Stop()
				after := w.Status()
				<-time.After(50 * time.Millisecond) // for the last tick to come
				reports := c.end(b)
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(after.JournalWritten-before.JournalWritten)/seconds, "bytes/s")
				b.ReportMetric(float64(after.Barriers+after.Syncs-before.Barriers-before.Syncs)/seconds, "syncs/s")
				b.ReportMetric(float64(longest)/1e6, "longest-append-ms")
				var late []time.Duration
				var cpu time.Duration
				var waits, peak int64
				for i, r := range reports {
					if r.Ticks != ticks {
						b.Errorf("follower %d got %d ticks of %d", i, r.Ticks, ticks)
					}
					late = append(late, r.Late...)
					cpu, waits, peak = cpu+r.CPU, waits+r.Waits, max(peak, r.Peak)
				}
				if len(late) == 0 {
					continue
				}
				slices.Sort(late)
				b.ReportMetric(float64(cpu)/float64(len(reports))/(seconds*1e9)*100, "%core")
				b.ReportMetric(float64(peak)/1024, "MB-peak")
				b.ReportMetric(float64(waits)/float64(len(late)), "waits/tick")
				b.ReportMetric(float64(late[len(late)/2])/1e6, "p50-ms")
				b.ReportMetric(float64(late[len(late)*99/100])/1e6, "p99-ms")
				b.ReportMetric(float64(late[len(late)-1])/1e6, "max-ms")
			}
		})
	}
}
