package stack

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

var (
	app  = &Image{Path: "/opt/app", ID: "AA", Base: 0x1000}
	libc = &Image{Path: "/lib/libc.so.6", ID: "BB", Base: 0x7000, Cache: true, CacheID: "CC", CacheSlide: 0x4000}
)

func seenBy(tid uint64, state State, count uint32, frames ...Frame) *Sample {
	return &Sample{Thread: Thread{PID: 7, Process: "7/100", Command: "app", TID: tid}, State: state, Frames: frames, Count: count}
}

func show(t *metric.Tick) string {
	if t == nil {
		return "nothing"
	}
	var text strings.Builder
	for _, b := range t.Blocks {
		for i, in := range b.Rows {
			fmt.Fprintf(&text, "%s %s %q", b.Group.Indom, in.Key[strings.IndexByte(in.Key, '.')+1:], in.Name)
			for _, l := range in.Labels {
				value := l.Value
				if l.Name == LabelCaller || l.Name == LabelImage || l.Name == LabelFrame || l.Name == LabelWakerFrame {
					value = value[strings.IndexByte(value, '.')+1:]
				}
				fmt.Fprintf(&text, " %s=%s", l.Name, value)
			}
			for _, c := range b.Cols {
				fmt.Fprintf(&text, " %d", c.Bits[i])
			}
			text.WriteByte('\n')
		}
	}
	return text.String()
}

func TestBook(t *testing.T) {
	main := Frame{Image: app, Address: 0x1010, Name: "main", File: "main.c", Line: 3}
	inner := Frame{Image: app, Address: 0x1020, Name: "work"}
	read := Frame{Image: libc, Address: 0x7004, Name: "read"}
	entry := Frame{Address: 0xffff0001, Name: "sys_read", Kernel: true}

	b := NewBook(metric.Stamp{Wall: 5e9})
	if got := show(b.Tick(metric.Stamp{})); got != "nothing" {
		t.Errorf("of nothing: %s", got)
	}
	b.Add(seenBy(7, Running, 3, inner, main))
	b.Add(seenBy(7, Running, 1, inner, main))
	waits := seenBy(8, Waiting, 2, entry, read, main)
	waits.Wait, waits.Thread.Name, waits.End = "pipe_read", "io", Broken
	b.Add(waits)
	b.Add(seenBy(7, Running, 1, inner, inner, main)) // a function that calls itself
	b.Add(seenBy(9, Running, 0, inner))
	b.Add(seenBy(9, Running, 1))
	for range 2 { // measured waits, which the clock did not see: of a thread that another woke
		slept := seenBy(8, Waiting, 0, entry, read, main)
		slept.Waited = 3e9
		slept.Waker = &Waker{Thread: Thread{PID: 7, Process: "7/100", Command: "app", TID: 9, Name: "worker"}, Frames: []Frame{{Image: app, Address: 0x1030, Name: "unlock"}}}
		b.Add(slept)
	}
	timer := seenBy(8, Waiting, 0, entry, read, main)
	timer.Waited, timer.Waker = 1000, &Waker{}
	b.Add(timer)
	at := metric.Stamp{Wall: 6e9, Awake: 1, Cont: 1}
	got := show(b.Tick(at))
	const want = `stack image 1 "/opt/app" id=AA base=4096 7
stack image 5 "/lib/libc.so.6" id=BB base=28672 cache=yes cache_id=CC cache_slide=16384 2
stack frame 2 "main" image=1 offset=16 file=main.c line=3 7
stack frame 3 "work" caller=2 image=1 offset=32 5
stack frame 6 "read" caller=2 image=5 offset=4 2
stack frame 7 "sys_read" caller=6 offset=4294901761 kernel=yes 2
stack frame 9 "work" caller=3 image=1 offset=32 1
stack frame 11 "unlock" image=1 offset=48 0
stack 4 "000007 app" process=7/100 pid=7 tid=7 frame=3 4 4 0
stack 8 "000007 app" process=7/100 pid=7 tid=8 thread=io frame=7 wait=pipe_read end=broken 2 0 0
stack 10 "000007 app" process=7/100 pid=7 tid=7 frame=9 1 1 0
stack 12 "000007 app" process=7/100 pid=7 tid=8 frame=7 waker=app waker_process=7/100 waker_pid=7 waker_tid=9 waker_thread=worker waker_frame=11 0 0 6000000000
stack 13 "000007 app" process=7/100 pid=7 tid=8 frame=7 waker=interrupt 0 0 1000
`
	if got != want {
		t.Errorf("the first tick is\n%swant\n%s", got, want)
	}

	// The next second has the rows that it needs, with the same keys.
	b.Add(seenBy(7, Waiting, 2, inner, main))
	const second = `stack image 1 "/opt/app" id=AA base=4096 2
stack frame 2 "main" image=1 offset=16 file=main.c line=3 2
stack frame 3 "work" caller=2 image=1 offset=32 2
stack 4 "000007 app" process=7/100 pid=7 tid=7 frame=3 2 0 0
`
	if got := show(b.Tick(at)); got != second {
		t.Errorf("the second tick is\n%swant\n%s", got, second)
	}
}

// Functions of an interpreted program have no addresses: their files and lines tell them apart.
func TestBookOfAnInterpreter(t *testing.T) {
	b := NewBook(metric.Stamp{})
	for _, f := range []Frame{
		{Name: "run", File: "a.py", Line: 3, Start: 1}, {Name: "run", File: "a.py", Line: 4, Start: 1},
		{Name: "run", File: "a.py", Line: 4, Start: 2}, {Name: "run", File: "b.py", Line: 3, Start: 1}, {Name: "run", File: "a.py", Line: 3, Start: 1},
	} {
		b.Add(seenBy(7, Running, 1, f))
	}
	got, _, _ := strings.Cut(show(b.Tick(metric.Stamp{})), "stack 2")
	const want = `stack frame 1 "run" file=a.py line=3 start=1 2
stack frame 3 "run" file=a.py line=4 start=1 1
stack frame 5 "run" file=a.py line=4 start=2 1
stack frame 7 "run" file=b.py line=3 start=1 1
`
	if got != want {
		t.Errorf("the frames are\n%swant\n%s", got, want)
	}
}

// A Book stays small however many days are sampled.
func TestBookForgets(t *testing.T) {
	b := NewBook(metric.Stamp{})
	keys := make(map[string]bool)
	for i := range maxEntries + maxEntries/4 {
		b.Add(seenBy(1, Running, 1, Frame{Image: app, Address: uint64(i)}))
		if i%1000 == 999 {
			tick := b.Tick(metric.Stamp{})
			for _, in := range tick.Blocks[frameGroup].Rows {
				if keys[in.Key] {
					t.Fatalf("%s stands for two frames", in.Key)
				}
				keys[in.Key] = true
			}
			if n := len(b.frames) + len(b.stacks) + len(b.images); n > maxEntries+2001 {
				t.Fatalf("it remembers %d instances", n)
			}
		}
	}
}
