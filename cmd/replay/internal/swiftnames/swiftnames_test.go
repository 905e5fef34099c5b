package swiftnames

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// mode is the variable by which a child of the tests knows what to do.
const mode = "TACHO_SWIFT_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(mode); what != "" {
		child(what)
		return
	}
	os.Exit(m.Run())
}

// child is a child whose library knows one name, and fails on others.
func child(what string) {
	switch what {
	case "system":
		if Serve(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	err := serve(os.Stdin, os.Stdout, func(s string) string {
		switch {
		case what == "noise":
			return strings.Repeat("x", 10*longest)
		case strings.Contains(s, "crash"):
			os.Exit(139)
		case strings.Contains(s, "lines"):
			return "two\nlines"
		case s == "$s4main3fooyyF":
			return "foo()"
		}
		return ""
	})
	if err != nil {
		os.Exit(1)
	}
}

func askerOf(t *testing.T, what string, started *int) *asker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{patience: patience, start: func() (*exec.Cmd, error) {
		*started++
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), mode+"="+what)
		return cmd, nil
	}}
	t.Cleanup(a.end)
	return a
}

func TestName(t *testing.T) {
	started := 0
	a := askerOf(t, "usual", &started)
	for range 2 {
		for _, c := range []struct {
			mangled, want string
			started       int
		}{
			{"main", "", 0}, {"$s4main\n3fooyyF", "", 0}, {"$s" + strings.Repeat("x", longest), "", 0},
			{"$s4main3fooyyF", "foo()", 1}, {"$s4main3baryyF", "", 1}, {"$s5linesV", "two lines", 1},
		} {
			if got, ok := a.name(c.mangled); got != c.want || ok != (c.want != "") || started < c.started {
				t.Errorf("%.20q is %q, %v after %d children", c.mangled, got, ok, started)
			}
		}
	}
	if started != 1 {
		t.Errorf("%d children were started", started)
	}
}

// A child that crashes costs the name that it crashed on. After some, there are no more.
func TestCrash(t *testing.T) {
	started := 0
	a := askerOf(t, "usual", &started)
	for i := range 10 {
		if got, ok := a.name(fmt.Sprintf("$s%dcrash", i)); ok {
			t.Errorf("%q", got)
		}
		if got, _ := a.name("$s4main3fooyyF"); i < mostTries-1 && got != "foo()" {
			t.Errorf("after %d crashes %q", i+1, got)
		}
	}
	if started > mostTries {
		t.Errorf("%d children were started", started)
	}
}

func TestNoise(t *testing.T) {
	started := 0
	a := askerOf(t, "noise", &started)
	for i := range 5 {
		if got, ok := a.name(fmt.Sprintf("$s%d", i)); ok {
			t.Errorf("%d bytes", len(got))
		}
	}
	if started != mostTries {
		t.Errorf("%d children were started", started)
	}
}

// A child that hangs is ended.
func TestHang(t *testing.T) {
	started := 0
	a := askerOf(t, "hang", &started)
	a.patience = 20 * time.Millisecond
	for i := range 5 {
		if got, ok := a.name(fmt.Sprintf("$s%d", i)); ok {
			t.Errorf("%q", got)
		}
	}
	if started != mostTries || a.cmd != nil {
		t.Errorf("%d children were started", started)
	}
}

// A program that did not say that it can be its own child starts none.
func TestUnused(t *testing.T) {
	if got, ok := Name("$s4main3fooyyF"); ok || Child([]string{"replay"}) {
		t.Errorf("%q", got)
	}
}
