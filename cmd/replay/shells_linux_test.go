package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// terminal is a shell in a terminal of its own.
type terminal struct {
	t    *testing.T
	pty  *os.File
	cmd  *exec.Cmd
	read chan []byte
	seen []byte
}

func startShell(t *testing.T, dir string, name string, args ...string) *terminal {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if err := unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TERM=dumb", "PS1=READY> ", "PATH="+dir+":"+os.Getenv("PATH"), asProgram+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, pty: pty, cmd: cmd, read: make(chan []byte)}
	go func() {
		defer close(s.read)
		for {
			b := make([]byte, 4096)
			n, err := pty.Read(b)
			if err != nil {
				return
			}
			s.read <- b[:n]
		}
	}()
	t.Cleanup(func() {
		pty.Close()
		cmd.Process.Kill()
		cmd.Wait()
		for range s.read { // The reader ends with the terminal.
		}
	})
	return s
}

func (s *terminal) send(text string) {
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// await reads until the shell has shown text, and takes away what it showed.
func (s *terminal) await(text string) string {
	s.t.Helper()
	deadline := patience.Context(s.t, time.Minute)
	for {
		if i := bytes.Index(s.seen, []byte(text)); i >= 0 {
			out := string(s.seen[:i+len(text)])
			s.seen = s.seen[i+len(text):]
			return out
		}
		select {
		case b, ok := <-s.read:
			if !ok {
				s.t.Fatalf("the shell ended, having shown %q", s.seen)
			}
			s.seen = append(s.seen, b...)
		case <-deadline.Done():
			s.t.Fatalf("%q was not shown, but %q", text, s.seen)
		}
	}
}

// asked are beginnings of command lines and what a tabulator makes of them.
var asked = []struct{ typed, want string }{
	{"replay summ", "summary"},
	{"replay top --by ener", "energy"},
	{"replay net --by retr", "retrans"},
	{"replay net --protocol qu", "quic"},
	{"replay top --group=us", "--group=user"},
	{"replay rates --archive mac.txt disk.all.wri", "disk.all.write_bytes"},
	{"replay rates filesys.full --archive mac.txt -i /dev/disk3s", "/dev/disk3s1"},
	{"replay ps --archive mac.txt --at 03:15 burn", "burner"},
	{"replay events --archive mac.txt --kind tun", "tunable"}, // what follows is a blank, which each shell quotes its own way
	{"replay events mac.txt --kind tun", "tunable"},
	{"replay --archive fleet.txt --host lap", "laptop"},
	{"replay top --format=js", "json"},
	{"replay at --archive mac.txt yester", "yesterday"},
	{"replay --archive ma", "mac.txt"},
	{"replay info flee", "fleet.txt"},
	{"replay completion fi", "fish"},
}

// prepareShell makes a directory with replay and archives in it, and the
// script for the shell.
func prepareShell(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("%s is not installed", shell)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "replay")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mac.txt", "fleet.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script, errs, status := replayAt(testNow, "completion", shell)
	if status != cli.Yes {
		t.Fatal(errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "script."+shell), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// completeAll types what is asked and looks at what the line becomes: it is
// given to a command that shows its arguments.
func (s *terminal) completeAll() {
	s.t.Helper()
	for i, c := range asked {
		s.send(c.typed + "\t")
		s.await(c.want)
		s.send("\x15") // Away with the line.
		mark := fmt.Sprintf("done-%d", i)
		s.send("echo done-''" + strings.TrimPrefix(mark, "done-") + "\r")
		s.await(mark)
	}
}

func TestCompletionInBash(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for _, c := range []struct{ name, load string }{
		{"alone", ""},
		{"with the package", "source /usr/share/bash-completion/bash_completion; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := prepareShell(t, "bash")
			if c.load != "" {
				if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil {
					t.Skip("bash-completion is not installed")
				}
			}
			s := startShell(t, dir, "bash", "--norc", "--noprofile", "-i")
			s.send(c.load + "source ./script.bash; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; echo LOAD''ED\r")
			s.await("LOADED")
			s.completeAll()
		})
	}
}

func TestCompletionInZsh(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := prepareShell(t, "zsh")
	s := startShell(t, dir, "zsh", "-f", "-i")
	s.send("unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; source ./script.zsh; echo LOAD''ED\r")
	s.await("LOADED")
	s.completeAll()
}

func TestCompletionInFish(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := prepareShell(t, "fish")
	for _, c := range asked {
		cmd := exec.Command("fish", "--no-config", "-c", `source ./script.fish; complete -C "`+c.typed+`"`)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), asProgram+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, fish offers %q, not %s", c.typed, err, out, c.want)
		}
	}
}
