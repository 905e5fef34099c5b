// Package swiftnames makes names of Swift readable with macOS's own library for that, where there
// is one. The library is a large program in C++ that reads a stranger's bytes, so it runs in a
// child process, which is this program started once more: if it crashes or hangs on a name, that
// name stays as it was.
package swiftnames

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// argument is what the child is started with.
	argument = "__swift-names"

	longest   = 4096 // of a name
	patience  = 5 * time.Second
	mostTries = 3 // children that may fail
	mostNames = 1 << 15
)

// Child reports whether a program with these arguments is the child, which calls Serve.
func Child(args []string) bool { return there && len(args) == 2 && args[1] == argument }

// Serve answers each line, a mangled name, with a line that has the readable one, or nothing.
func Serve(in io.Reader, out io.Writer) error { return serve(in, out, system) }

func serve(in io.Reader, out io.Writer, readable func(string) string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2*longest)
	for lines.Scan() {
		name := strings.ReplaceAll(readable(lines.Text()), "\n", " ")
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return lines.Err()
}

var children = asker{patience: patience}

// Use lets Name start the child. Only a program that begins with Child may call it.
func Use() {
	if !there {
		return
	}
	children.start = func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.Command(self, argument), nil
	}
}

// Name returns the readable form of a mangled name; false if the system cannot tell.
func Name(mangled string) (string, bool) { return children.name(mangled) }

// asker asks one child after the other.
type asker struct {
	start    func() (*exec.Cmd, error)
	patience time.Duration

	mu      sync.Mutex
	known   map[string]string
	failed  int
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string
}

func (a *asker) name(mangled string) (string, bool) {
	if a.start == nil || len(mangled) > longest || !plain(mangled) {
		return "", false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name, known := a.known[mangled]
	if !known {
		if a.failed >= mostTries {
			return "", false
		}
		var err error
		if name, err = a.ask(mangled); err != nil {
			a.failed++
			a.end()
		}
		if len(a.known) >= mostNames {
			clear(a.known)
		}
		if a.known == nil {
			a.known = make(map[string]string)
		}
		a.known[mangled] = name
	}
	return name, name != ""
}

// plain reports whether a name is one of Swift, and has only what such names have.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	s = strings.TrimPrefix(s, "_")
	return strings.HasPrefix(s, "$s") || strings.HasPrefix(s, "$S")
}

var errNoAnswer = errors.New("the child does not answer")

func (a *asker) ask(mangled string) (string, error) {
	if a.cmd == nil {
		if err := a.begin(); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(a.in, mangled+"\n"); err != nil {
		return "", err
	}
	late := time.NewTimer(a.patience)
	defer late.Stop()
	select {
	case name, ok := <-a.answers:
		if !ok {
			return "", errNoAnswer
		}
		return name, nil
	case <-late.C:
		return "", errNoAnswer
	}
}

// begin starts a child. It ends when this process does, because its input ends then.
func (a *asker) begin() error {
	cmd, err := a.start()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answers := make(chan string, 1)
	go func() {
		defer close(answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 2*longest)
		for lines.Scan() {
			answers <- lines.Text()
		}
	}()
	a.cmd, a.in, a.answers = cmd, in, answers
	return nil
}

// end ends the child.
func (a *asker) end() {
	if a.cmd == nil {
		return
	}
	a.in.Close()
	_ = a.cmd.Process.Kill()
	for range a.answers { // until its output ends
	}
	_ = a.cmd.Wait()
	a.cmd = nil
}
