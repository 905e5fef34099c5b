package redact

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// What the system wrote down may have a name of one's own in any of its parts.
func TestWhatTheSystemWroteDown(t *testing.T) {
	label := func(pairs ...string) (ls []metric.Label) {
		for i := 0; i < len(pairs); i += 2 {
			ls = append(ls, metric.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		return ls
	}
	for _, c := range []struct {
		event metric.Event
		want  string
	}{
		{metric.Event{Kind: metric.EventCrash, Text: "zaphod-payroll 4.2-zaphod (pid 99) crashed: EXC_CRASH (SIGABRT), in zaphodlib pay+1",
			Labels: label("source", "report", "rule", "crash", "name", "zaphod-payroll", "version", "4.2-zaphod", "exception", "EXC_CRASH", "signal", "SIGABRT", "pid", "99",
				"frames", "zaphodlib pay+1", "report", "zaphod-payroll-2026-01-02-030405.ips", "incident", "zaphod", "bundle", "com.zaphod.payroll", "by", "zaphodd", "app", "Zaphod Payroll")},
			"(pid 99) crash: crash EXC_CRASH SIGABRT"},
		{metric.Event{Kind: metric.EventKernel, Text: "EXT4-fs error (device zaphod): comm zaphod", Labels: label("source", "kernel", "topic", "file system", "rule", "error", "device", "mapper/zaphod")}, "kernel: file system error"},
		{metric.Event{Kind: metric.EventKill, Text: "the kernel ended zaphod (pid 7) for want of memory in /zaphod.slice", Labels: label("rule", "killed", "name", "zaphod", "group", "/zaphod.slice", "bytes", "1048576", "pid", "7")}, "(pid 7) kill: killed in /"},
		{metric.Event{Kind: metric.EventService, Text: "zaphod.service failed: exit-code", Labels: label("rule", "unit failed", "unit", "zaphod.service", "result", "exit-code")}, "service failure: unit failed"},
		{metric.Event{Kind: metric.EventSoftware, Text: "zaphod 1 → 2 (dpkg)", Labels: label("source", "dpkg", "package", "zaphod", "was", "1", "is", "2", "what", "changed")}, "software: was 1 is 2"},
		{metric.Event{Kind: metric.EventPanic, Text: "the kernel panicked: in com.zaphod.driver", Labels: label("source", "report", "rule", "panic", "reason", "zaphod")}, "panic: panic"},
	} {
		m := New(Options{})
		got, ok := m.Event(c.event)
		if !ok || !strings.Contains(got.Text, c.want) {
			t.Errorf("%s: %q, want it to have %q", c.event.Kind, got.Text, c.want)
		}
		all := got.Text
		for _, l := range got.Labels {
			all += "\n" + l.Name + "=" + l.Value
		}
		if strings.Contains(strings.ToLower(all), "zaphod") {
			t.Errorf("%s tells a name:\n%s", c.event.Kind, all)
		}
		if got.Kind != c.event.Kind {
			t.Errorf("the kind %s becomes %s", c.event.Kind, got.Kind)
		}
	}
}
