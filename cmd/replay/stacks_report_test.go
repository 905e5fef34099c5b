package main

import (
	"os"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/browsertest"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

// calls are the boxes of a page's flame graph: what they are called, and how wide they are,
// in hundredths of all.
func calls(p *browsertest.Page) string {
	var list []string
	p.Eval(`[...document.querySelectorAll(".flame .call")].map(c => c.textContent + " " + Math.round(100 * c.getBoundingClientRect().width / c.parentNode.getBoundingClientRect().width))`, &list)
	return strings.Join(list, ", ")
}

// A report shows the stacks of its window as a flame graph, for the mouse and for the
// keyboard; what strangers called their functions is text.
func TestReportOfStacks(t *testing.T) {
	t.Parallel()
	b, p := openReport(t, openStore, stackstest.Write(t, stackstest.Incident()...))
	const all = "all samples 100, indexer (612) 67, __libc_start_main [libc.so.6] 67, main [indexer] 67, flush [indexer] 33, write [libc.so.6] 33, ksys_write [kernel] 33, io_schedule [kernel] 33, " +
		"indexer::parse [indexer] 33, engine::Scanner::scan [libengine.so] 27, libengine.so+0x900 3, malloc [libc.so.6] 6, bash (90) 33, wait4 [libc.so.6] 33, do_wait [kernel] 33"
	if got := calls(p); got != all {
		t.Errorf("the page draws %s\nwant %s", got, all)
	}
	if path := os.Getenv("TACHO_SCREENSHOT"); path != "" {
		if err := os.WriteFile(path, p.Screenshot(true), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said := func() string { return p.Text(`document.querySelector("#stacks .where").textContent`) }
	at := func() string { return p.Text(`document.activeElement.textContent`) }
	p.ClickOn(`.call[aria-label^="malloc"]`)
	if got := calls(p); got != "all samples 100, indexer (612) 100, __libc_start_main [libc.so.6] 100, main [indexer] 100, indexer::parse [indexer] 100, malloc [libc.so.6] 100" {
		t.Errorf("after a click it draws %s", got)
	}
	if got, want := said(), "malloc [libc.so.6]: 38 samples, 6.4 % of all, 100 % of them running"; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
	p.Eval(`document.querySelector(".call[tabindex='0']").focus()`, nil)
	p.Key("Escape")
	if got := calls(p); got != all || at() != "malloc [libc.so.6]" {
		t.Errorf("after Escape at %s it draws %s", at(), got)
	}
	for _, step := range []struct{ key, at string }{
		{"ArrowLeft", "engine::Scanner::scan [libengine.so]"}, {"ArrowDown", "libengine.so+0x900"}, {"ArrowDown", "libengine.so+0x900"}, {"ArrowUp", "engine::Scanner::scan [libengine.so]"},
		{"ArrowUp", "indexer::parse [indexer]"}, {"ArrowLeft", "flush [indexer]"}, {"Home", "all samples"}, {"ArrowDown", "indexer (612)"}, {"ArrowRight", "bash (90)"},
	} {
		if p.Key(step.key); at() != step.at {
			t.Errorf("after %s the focus is at %s, not at %s", step.key, at(), step.at)
		}
	}
	p.Key("Enter")
	if got := calls(p); got != "all samples 100, bash (90) 100, wait4 [libc.so.6] 100, do_wait [kernel] 100" {
		t.Errorf("after Enter it draws %s", got)
	}
	complains(t, p)

	// Where waits were measured, it says how long they lasted.
	w := b.Tab()
	w.Go("file://" + reportFile(t, openStore, stackstest.Write(t, stackstest.Waits()...)))
	w.Wait(ready)
	w.ClickOn(`.call[aria-label^="await_worker"]`)
	if got, want := w.Text(`document.querySelector("#stacks .where").textContent`), "await_worker [indexer]: 396 samples, 39 % of all, 100 % of what is shown, 0.0 % of them running; 4.1 s waited"; !strings.HasPrefix(got, "await_worker [indexer]: 396 samples, 39 % of all") || !strings.HasSuffix(got, "; 4.1 s waited") {
		t.Errorf("it says %q, not %q", got, want)
	}
	complains(t, w)

	var hostile []stack.Sample
	for i, name := range []string{"</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "__proto__", "a\u202e\x1b]0;x\x07", strings.Repeat("x", 5000)} {
		hostile = append(hostile, stack.Sample{Count: 1, Thread: stack.Thread{PID: int32(i), Command: name, Name: name}, Wait: name,
			Frames: stackstest.Frames(stackstest.In(&stack.Image{Path: "/" + name}, 1, name), stackstest.In(nil, 2, name))})
	}
	q := b.Tab()
	q.Go("file://" + reportFile(t, openStore, stackstest.Write(t, hostile)))
	q.Wait(ready)
	var hacked bool
	q.Eval(`window.hacked === 1`, &hacked)
	if got := calls(q); hacked || strings.ContainsAny(got, "\u202e\x1b") || strings.Count(got, "<img src=x onerror=window.hacked=1>") != 4 {
		t.Errorf("hacked: %v; it draws %s", hacked, got)
	}
	complains(t, q)

	// A recording without stacks has no such part.
	plain := b.Tab()
	plain.Go("file://" + reportFile(t, openText, "testdata/mac.txt"))
	plain.Wait(ready)
	var found bool
	if plain.Eval(`document.querySelector("#stacks, .flame") !== null`, &found); found {
		t.Error("there is a flame graph of nothing")
	}
}
