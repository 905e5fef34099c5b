package proc

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

// Of a very long command line only the beginning is read, and no part of an argument in
// which the beginning of a secret might not look like one.
func TestLongCommandLines(t *testing.T) {
	f := newFakeTree(t)
	many := []string{"compile"}
	for range 1000 {
		many = append(many, "-file", strings.Repeat("f", 200))
	}
	secrets := append([]string{"login", "--password=" + strings.Repeat("x", mostArgs-100)}, "https://ana:"+strings.Repeat("secret", 50)+"@example.com/")
	f.put(fakeProcess{pid: 50, comm: "compile", start: 100, exe: "/bin/compile", args: many})
	f.put(fakeProcess{pid: 60, comm: "script", start: 100, exe: "/bin/sh", args: []string{"sh", "-c", strings.Repeat("echo ", 20_000)}})
	f.put(fakeProcess{pid: 70, comm: "login", start: 100, exe: "/bin/login", args: secrets})
	r := openReader(t, Options{Root: f.root, Args: cmdline.Redacted}, func(d *metric.Desc) bool { return d.Name == "proc.psinfo.psargs" })
	r.read("proc")
	for key, begins := range map[string]string{"50/100": "compile -file fff", "60/100": "sh -c echo echo", "70/100": "login --password=***"} {
		got := r.value("proc", key, "proc.psinfo.psargs").Str
		if !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, "…") || strings.Contains(got, "secret") || len(got) > 4096 {
			t.Errorf("%s: %d letters: %.40q ... %q", key, len(got), got, got[max(0, len(got)-20):])
		}
	}
	if n := len(r.kernel().dir.buf); n > mostArgs {
		t.Errorf("the buffer has become %d bytes", n)
	}
}

// A buffer that one very large file enlarged is released.
func TestBufferIsTrimmed(t *testing.T) {
	d := &procDir{buf: make([]byte, 16<<10)}
	d.trim()
	if len(d.buf) != 16<<10 {
		t.Errorf("%d bytes of a buffer that is small enough", len(d.buf))
	}
	d.buf = make([]byte, 4<<20)
	d.trim()
	if len(d.buf) != mostBuffered {
		t.Errorf("%d bytes are kept", len(d.buf))
	}
}
