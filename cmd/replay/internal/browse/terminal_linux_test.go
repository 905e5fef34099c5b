package browse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	wait "tachograph/testdata/patience"
)

// childWord in its environment makes this test binary the program itself, with a fake
// recording.
const childWord = "BROWSE_TEST_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childWord); how != "" {
		os.Exit(child(how))
	}
	os.Exit(m.Run())
}

// child is the program as a command runs it.
func child(how string) (status int) {
	f := newFake(time.Hour)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			fmt.Println("PANIC:", strings.SplitN(fmt.Sprint(p), "\n", 2)[0])
			status = 3
		}
	}()
	if how == "panic" {
		f.panics = "Life"
	}
	answer, err := Run(ctx, Options{
		Open: func(context.Context) (Opened, error) { return Opened{Engine: f, Zone: time.UTC}, nil },
		Now:  time.Now, Parse: func(string, int64) (int64, error) { return 0, errors.New("no") },
		Command: func(args ...string) string { return strings.Join(args, " ") },
	})
	fmt.Println("ENDED:", err, answer.At == at(time.Hour))
	return 0
}

// terminal is a child on a terminal of its own.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	before unix.Termios

	mu  sync.Mutex
	out []byte
	end bool
}

func startTerminal(t *testing.T, how string, env ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, slave: slave}
	x.before = x.state()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x.cmd = exec.Command(self)
	x.cmd.Env = append(os.Environ(), append([]string{childWord + "=" + how, "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR="}, env...)...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go x.read()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = slave.Close()
		_ = master.Close()
	})
	return x
}

func (x *terminal) state() unix.Termios {
	s, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *s
}

func (x *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := x.master.Read(b)
		x.mu.Lock()
		x.out = append(x.out, b[:n]...)
		x.end = err != nil
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until something has been written after so many bytes, and tells how many
// there are then.
func (x *terminal) await(text string, after int) int {
	x.t.Helper()
	at, seen := 0, []byte(nil)
	defer func() {
		if at == 0 {
			x.t.Logf("what is written is %q", seen)
		}
	}()
	wait.Until(x.t, fmt.Sprintf("%q is written", text), func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		seen = x.out[after:]
		if i := bytes.Index(seen, []byte(text)); i >= 0 {
			at = after + i + len(text)
		} else if x.end {
			x.t.Fatalf("%q is not written", text)
		}
		return at > 0
	})
	return at
}

// written is what has been written so far.
func (x *terminal) written() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return bytes.Clone(x.out)
}

func (x *terminal) write(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

const (
	otherScreen = "\x1b[?1049h"
	firstScreen = "\x1b[?1049l"
)

// However the program ends, the terminal is as it was, and what is said about it comes
// after that.
func TestTerminalIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		how  string
		ends func(x *terminal)
		says string
	}{
		{"q", func(x *terminal) { x.write("q") }, "ENDED: <nil> true"},
		{"ctrl-c", func(x *terminal) { x.write("\x03") }, "ENDED: <nil> true"},
		{"panic", func(x *terminal) { x.write("\r") }, "PANIC: the engine of the test"},
		{"term", func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) }, "ENDED: context canceled true"},
		{"hup", func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGHUP) }, "ENDED: context canceled true"},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			x := startTerminal(t, c.how)
			x.await("alpha", x.await(otherScreen, 0))
			if s := x.state(); s.Lflag&(unix.ICANON|unix.ECHO) != 0 {
				t.Error("the terminal is not the program's")
			}
			c.ends(x)
			x.await(c.says, x.await(firstScreen, 0))
			_ = x.cmd.Wait()
			if s := x.state(); s != x.before {
				t.Errorf("the terminal is left as %+v, it was %+v", s, x.before)
			}
			for _, mode := range []string{"\x1b[?1000l", "\x1b[?1002l"} {
				if !bytes.Contains(x.written(), []byte(mode)) {
					t.Errorf("the mouse is not given back: no %q", mode)
				}
			}
		})
	}
}

// Ctrl-Z and SIGTSTP put the program aside with the terminal as it was, and it comes
// back with the screen.
func TestPutAside(t *testing.T) {
	for _, how := range []string{"key", "signal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			x := startTerminal(t, how)
			done := x.await("alpha", x.await(otherScreen, 0))
			if how == "key" {
				x.write("\x1a")
			} else {
				_ = x.cmd.Process.Signal(syscall.SIGTSTP)
			}
			done = x.await(firstScreen, done)
			var status unix.WaitStatus
			if _, err := unix.Wait4(x.cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatalf("it is not stopped: %v, %v", status, err)
			}
			if s := x.state(); s != x.before {
				t.Errorf("put aside it leaves the terminal as %+v", s)
			}
			_ = x.cmd.Process.Signal(syscall.SIGCONT)
			x.await("alpha", x.await(otherScreen, done))
			x.write("q")
			x.await("ENDED: <nil> true", done)
			_ = x.cmd.Wait()
		})
	}
}

// What a terminal cannot show is said in a sentence.
func TestTerminalsThatCannot(t *testing.T) {
	x := startTerminal(t, "dumb", "TERM=dumb")
	x.await("ENDED: this terminal (TERM=dumb) cannot be drawn on", 0)
	_ = x.cmd.Wait()
	// Without colours nothing sets one.
	x = startTerminal(t, "plain", "NO_COLOR=1")
	x.await("alpha", x.await(otherScreen, 0))
	x.write("q")
	x.await("ENDED", 0)
	_ = x.cmd.Wait()
	out := x.written()
	for _, color := range []string{"\x1b[3", "\x1b[4", "\x1b[38;", "\x1b[9"} {
		for i := 0; ; {
			k := bytes.Index(out[i:], []byte(color))
			if k < 0 {
				break
			}
			i += k + len(color)
			if end := bytes.IndexByte(out[i:], 'm'); end == 1 {
				t.Errorf("a colour is set: %q", out[i-len(color):i+2])
			}
		}
	}
}
