package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func TestUserNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	write := func(text string, when time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, when, when); err != nil {
			t.Fatal(err)
		}
	}
	write("# comment:*:7:\nroot:x:0:0::/root:/bin/sh\ntoor:x:0:0:\n+nis:x:9:\nana:x:501:20:\nnobody:*:-2:-2:\nbroken:x:abc:\nshort\n:x:5:\nbig:x:99999999999:", time.Unix(1000, 0))
	n := idNames{path: file}
	n.refresh()
	for id, want := range map[uint32]string{0: "root", 501: "ana", 4294967294: "nobody", 7: "7", 9: "9", 5: "5", 12345: "12345"} {
		t.Run(want, func(t *testing.T) {
			if got := n.name(id); got != want {
				t.Errorf("%d is %q, want %q", id, got, want)
			}
		})
	}
	write("ana:x:502:20:\n", time.Unix(2000, 0))
	n.refresh()
	if got := n.name(502); got != "ana" {
		t.Errorf("after a change 502 is %q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	n.refresh()
	if got := n.name(502); got != "502" {
		t.Errorf("without a file 502 is %q", got)
	}
	if got := testing.AllocsPerRun(10, func() { n.name(502) }); got != 0 {
		t.Errorf("asking again allocates %v times", got)
	}
}

func FuzzUserFile(f *testing.F) {
	f.Add([]byte("root:x:0:0::/root:/bin/sh\nnobody:*:-2:\n"))
	f.Add([]byte(":::\n#\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		parseIDs(text, func(_ uint32, name string) {
			if name == "" {
				t.Errorf("an empty name in %q", text)
			}
		})
	})
}

func TestWaitStatus(t *testing.T) {
	for status, want := range map[int]string{0: "exit 0", 256: "exit 1", 0xff00: "exit 255", 9: "signal 9", 11 | 0x80: "signal 11 core"} {
		t.Run(want, func(t *testing.T) {
			if got := waitText(status); got != want {
				t.Errorf("%#x means %q, want %q", status, got, want)
			}
		})
	}
}

func TestInstantsOfTheKernel(t *testing.T) {
	now := metric.Stamp{Wall: 1_000_000, Awake: 500, Cont: 900}
	for _, c := range []struct {
		name      string
		got, want metric.Stamp
	}{
		{"since boot", sinceBoot(880, now), metric.Stamp{Wall: 999_980, Awake: 480, Cont: 880}},
		{"before a long sleep", sinceBoot(100, now), metric.Stamp{Wall: 999_200, Awake: 0, Cont: 100}},
		{"in the future", sinceBoot(1000, now), now},
		{"unknown", sinceBoot(0, now), now},
		{"by the wall", wallInstant(999_990, now), metric.Stamp{Wall: 999_990, Awake: 490, Cont: 890}},
		{"by a wall that was set back", wallInstant(1_000_001, now), now},
		{"by a wall that was set forward", wallInstant(1, now), now},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
			}
		})
	}
}

func TestMatcher(t *testing.T) {
	m := newMatcher("serv*, 77  w?rker")
	for _, c := range []struct {
		pid  int32
		name string
		want bool
	}{{1, "server", true}, {77, "other", true}, {78, "other", false}, {2, "worker", true}, {3, "wooorker", false}, {4, "77", false}} {
		t.Run(fmt.Sprintf("%d %s", c.pid, c.name), func(t *testing.T) {
			if got := m.match(c.pid, c.name); got != c.want {
				t.Errorf("%d %s: %v", c.pid, c.name, got)
			}
		})
	}
	none := newMatcher("")
	if none.match(1, "") || none.match(0, "x") {
		t.Error("no pattern matches something")
	}
}

func TestInstanceNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{instanceName(1234, "Safari"), "001234 Safari"},
		{instanceName(1234567, "x"), "1234567 x"},
		{instanceName(0, "two\nlines\x1b"), "000000 two lines?"},
		{threadName(7, 1<<40, "main"), "000007/1099511627776 main"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		})
	}
}
