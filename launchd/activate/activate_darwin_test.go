package activate

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// handVariable makes this program play the service that launchd starts. The variable named
// by simulated says what the simulated launchd hands over. A real launchd starts no tests.
const (
	handVariable = "TACHOGRAPH_TEST_ACTIVATE"
	simulated    = "DARWINHOST_LAUNCHD"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(handVariable); name != "" {
		serveOne(name)
		return
	}
	os.Exit(m.Run())
}

// serveOne answers one connection at each socket, and prints why sockets were refused.
func serveOne(name string) {
	files, err := Sockets(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, f := range files {
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Fprintf(c, "socket %d\n", i)
		c.Close()
	}
	_, err = Sockets(name)
	fmt.Println(err)
}

// start runs this program as launchd would, with sockets on which the program itself does
// not listen.
func start(t *testing.T, name, hand string, sockets ...string) (said func() string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), handVariable+"="+name)
	if hand != "" {
		cmd.Env = append(cmd.Env, simulated+"="+hand)
	}
	for _, path := range sockets {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		f, err := l.(*net.UnixListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	return func() string {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
}

// stranger is the error in a program that launchd did not start. A real launchd starts no
// tests; the simulated one returns what the variable says.
const stranger = "launchd did not start this process"

func TestSocketsAreTakenOver(t *testing.T) {
	if start(t, "serve", "other=3")() == stranger {
		t.Skip("this launchd is real")
	}
	dir, err := os.MkdirTemp("/tmp", "a") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	paths := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	said := start(t, "serve", "other=9 serve=3,4", paths...)
	for i, path := range paths {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if want := fmt.Sprintf("socket %d\n", i); err != nil || line != want {
			t.Errorf("%s answered %q, %v", path, line, err)
		}
		c.Close()
	}
	if got := said(); got != `the socket "serve" of launchd was taken over before` {
		t.Errorf("a second time: %s", got)
	}
}

func TestNothingIsHandedOver(t *testing.T) {
	for hand, want := range map[string]string{
		"":        stranger,
		"other=3": `launchd has no socket "serve" for this process: its plist names none`,
	} {
		if got := start(t, "serve", hand)(); got != want && got != stranger {
			t.Errorf("%q: %s, want %s", hand, got, want)
		}
	}
}
