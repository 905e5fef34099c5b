package redact

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

func labels(pairs ...string) (out []metric.Label) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, metric.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

// Stacks of a stranger's program say how it behaved and not whose it was; what all systems
// have stays, as do the ties between instances.
func TestStacks(t *testing.T) {
	m := New(Options{})
	show := func(indom string, in metric.Instance) string {
		out := m.Instance(indom, &in)
		var labels []string
		for _, l := range out.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		return fmt.Sprintf("%s %q %s", out.Key, out.Name, strings.Join(labels, " "))
	}
	id := labels("id", "0f31c2a5", "base", "4096", "cache", "yes", "cache_id", "1F-2A", "cache_slide", "16384")
	for _, path := range []string{"kernel", "/usr/lib/system/libsystem_kernel.dylib", "/System/Library/Frameworks/Metal.framework/Versions/A/Metal", "/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2", "/usr/lib/libstdc++.so.6.0.30", "/usr/lib/libc-2.31.so", "[vdso]"} {
		if got, want := show(stack.DomainImage, metric.Instance{Key: "7.1", Name: path, Labels: id}), fmt.Sprintf("7.1 %q id=0f31c2a5 base=4096 cache=yes cache_id=1F-2A cache_slide=16384", path); got != want {
			t.Errorf("%s became %s", path, got)
		}
	}
	for _, path := range []string{"/opt/zaphod/bin/zaphodd", "/usr/lib/libzaphod.so", "/usr/local/lib/libc.so.6.zaphod", "/Library/Zaphod.framework/Zaphod", "/usr/lib/x86_64-linux-gnu/zaphod/libc.so.6"} {
		if got := show(stack.DomainImage, metric.Instance{Key: "7.1", Name: path, Labels: id}); strings.Contains(strings.ToLower(got), "zaphod") || strings.Contains(got, "0f31c2a5") || !strings.HasSuffix(got, " base=4096 cache=yes") {
			t.Errorf("%s became %s", path, got)
		}
	}
	for _, name := range []string{"", "main", "runtime.goexit", "net/http.(*conn).serve", "_pthread_start", "mach_msg2_trap", "__libc_start_call_main", "malloc"} {
		if got, want := show(stack.DomainFrame, metric.Instance{Key: "7.2", Name: name, Labels: labels("caller", "7.1", "image", "7.0", "offset", "16", "line", "3")}), fmt.Sprintf("7.2 %q caller=7.1 image=7.0 offset=16 line=3", name); got != want {
			t.Errorf("%s became %s", name, got)
		}
	}
	if got := show(stack.DomainFrame, metric.Instance{Key: "7.2", Name: "do_futex", Labels: labels("kernel", "yes")}); got != `7.2 "do_futex" kernel=yes` {
		t.Errorf("a function of the kernel became %s", got)
	}
	own := show(stack.DomainFrame, metric.Instance{Key: "7.3", Name: "_ZN6zaphod4bookEv", Labels: labels("file", "/src/zaphod/book.cc")})
	if strings.Contains(own, "zaphod") || !strings.Contains(own, "function-") || own != show(stack.DomainFrame, metric.Instance{Key: "7.3", Name: "_ZN6zaphod4bookEv", Labels: labels("file", "/src/zaphod/book.cc")}) {
		t.Errorf("a function became %s", own)
	}
	for _, file := range []string{"/srv/zaphod/app.py", "zaphod/app.py", "zaphod.py", "<frozen zaphod>"} {
		got := show(stack.DomainFrame, metric.Instance{Key: "7.3", Name: "Zaphod.run.<locals>.<lambda>", Labels: labels("file", file, "line", "12", "start", "10")})
		if strings.Contains(strings.ToLower(got), "zaphod") || !strings.HasSuffix(got, " line=12 start=10") || !strings.Contains(got, " file=") {
			t.Errorf("a function of Python became %s", got)
		}
	}
	for _, wait := range []string{"the GIL", "the GIL, held by thread 613"} {
		if got := show(stack.DomainStack, metric.Instance{Key: "7.4", Name: "000612 x", Labels: labels("wait", wait)}); !strings.HasSuffix(got, " wait="+wait) {
			t.Errorf("%s became %s", wait, got)
		}
	}
	if got := show(stack.DomainStack, metric.Instance{Key: "7.4", Name: "000612 x", Labels: labels("wait", "the GIL, held by thread 613 (zaphod)")}); !strings.HasSuffix(got, " wait=the GIL, held by thread 613 ("+m.thread("zaphod")+")") || strings.Contains(got, "zaphod") {
		t.Errorf("a wait became %s", got)
	}
	process := m.process("zaphodd")
	got := show(stack.DomainStack, metric.Instance{Key: "7.4", Name: "000612 zaphodd", Labels: labels("process", "612/100", "pid", "612", "tid", "613", "thread", "zaphod", "queue", "com.zaphod.q", "frame", "7.3", "wait", "futex_wait_queue", "end", "broken")})
	if !strings.HasPrefix(got, fmt.Sprintf("7.4 %q process=612/100 pid=612 tid=613 thread=thread-", "000612 "+process)) || !strings.HasSuffix(got, " frame=7.3 wait=futex_wait_queue end=broken") || strings.Contains(strings.ReplaceAll(got, process, ""), "zaphod") {
		t.Errorf("a stack became %s", got)
	}
	got = show(stack.DomainStack, metric.Instance{Key: "7.5", Name: "000612 zaphodd", Labels: labels("frame", "7.3", "waker", "zaphodd", "waker_process", "612/100", "waker_pid", "612", "waker_tid", "614", "waker_thread", "zaphod", "waker_frame", "7.2")})
	if !strings.HasPrefix(got, fmt.Sprintf("7.5 %q frame=7.3 waker=%s waker_process=612/100 waker_pid=612 waker_tid=614 waker_thread=thread-", "000612 "+process, process)) || !strings.HasSuffix(got, " waker_frame=7.2") || strings.Contains(strings.ReplaceAll(got, process, ""), "zaphod") {
		t.Errorf("a stack with a waker became %s", got)
	}
	if got = show(stack.DomainStack, metric.Instance{Key: "7.6", Name: "000612 zaphodd", Labels: labels("waker", stack.Interrupt)}); !strings.HasSuffix(got, " waker="+stack.Interrupt) {
		t.Errorf("an interrupt became %s", got)
	}
	e, _ := m.Event(metric.Event{Kind: metric.EventStacks, Text: "stacks of zaphodd (pid 612) were sampled for 5.0 s, 495 times: memory pressure", Labels: labels("pid", "612", "rate", "99", "rounds", "495", "walk_errors", "3", "cut", "1", "hung", "1",
		"suspended_ns", "4900000", "suspended_up_to_ns", "20000:400 longer:2", "how", "perf")})
	if want := "stacks of " + process + " (pid 612) were sampled for 5.0 s, 495 times: memory pressure"; e.Text != want || e.Kind != metric.EventStacks || len(e.Labels) != 9 {
		t.Errorf("the event became %+v, not %s", e, want)
	}
}

// A process may be called by words that the recorder uses as well.
func TestTriggersNameNobody(t *testing.T) {
	m := New(Options{})
	process := m.process("memory server")
	const when = "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 90%"
	const fired = "runaway process: 000612 memory server: " + when + " for 5m, last 99.6 %"
	e, _ := m.Event(metric.Event{Kind: metric.EventTrigger, Indom: "process", Key: "612/100", Text: fired + "; stacks are sampled for 5s",
		Labels: labels("trigger", "runaway process", "when", when, "value", "99.6")})
	want := "runaway process: 000612 " + process + ": " + when + " for 5m, last 99.6 %; stacks are sampled for 5s"
	if e.Text != want || e.Kind != metric.EventTrigger {
		t.Errorf("the event became %+v, not\n%s", e, want)
	}
	e, _ = m.Event(metric.Event{Kind: metric.EventTrigger, Text: "zaphods: kernel.all.load[/zaphod/] > 5, last 7; no stacks: zaphod",
		Labels: labels("trigger", "zaphods", "when", "kernel.all.load[/zaphod/] > 5")})
	if strings.Contains(e.Text, "zaphod") || !strings.HasSuffix(strings.SplitAfter(e.Text, "> 5, last 7; no stacks: ")[0], "> 5, last 7; no stacks: ") {
		t.Errorf("somebody's words became %s", e.Text)
	}
	e, _ = m.Event(metric.Event{Kind: metric.EventStacks, Text: "stacks of memory server (pid 612) were sampled for 5.0 s, 495 times: " + fired})
	if want := "stacks of " + process + " (pid 612) were sampled for 5.0 s, 495 times: runaway process: 000612 " + process; !strings.HasPrefix(e.Text, want) {
		t.Errorf("the event became %s, not %s", e.Text, want)
	}
}
