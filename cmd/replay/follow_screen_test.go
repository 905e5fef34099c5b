package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/human"
)

// tmux runs a command on a terminal of its own.
type tmux struct {
	t      *testing.T
	socket string
}

func newTmux(t *testing.T, width, height int) *tmux {
	t.Helper()
	m := &tmux{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	m.do("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env PS1='ready> ' LANG=C.UTF-8 sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
	t.Cleanup(func() {
		if t.Failed() {
			shown, _ := exec.Command("tmux", "-S", m.socket, "capture-pane", "-p").Output()
			t.Logf("the terminal shows\n%s", shown)
		}
	})
	m.waitFor("ready>")
	return m
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// screen is what the terminal shows.
func (m *tmux) screen() string { return m.do("capture-pane", "-p") }

func (m *tmux) keys(keys ...string) { m.do(append([]string{"send-keys"}, keys...)...) }

// until waits for a condition. To look at the terminal takes a process each time.
func (m *tmux) until(what string, ok func() bool) {
	m.t.Helper()
	until(m.t, what, func() bool {
		if ok() {
			return true
		}
		<-time.After(20 * time.Millisecond)
		return false
	})
}

// waitFor waits until the terminal shows all of the texts.
func (m *tmux) waitFor(texts ...string) string {
	m.t.Helper()
	var shown string
	m.until(fmt.Sprintf("%q is shown", texts), func() bool {
		shown = m.screen()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
	return shown
}

// TestTopOnATerminal looks at top --follow: it fits, it is drawn anew for another
// size, and whatever ends it leaves the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	peer(t, "tmux")
	recorder, replay := recorderAndReplay(t)
	dir := filepath.Join(t.TempDir(), "d")
	records(t, recorder, dir, "500ms")
	until(t, "there is an archive", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*.live"))
		return len(found) > 0
	})
	for _, size := range [][2]int{{80, 24}, {40, 12}, {200, 50}} {
		m := newTmux(t, size[0], size[1])
		for _, end := range []string{"q", "C-c"} {
			m.keys("echo before; "+replay+" top -f --archive "+dir, "Enter")
			fits(t, m.waitFor("MEMORY"), size[0]) // which has room everywhere
			m.do("resize-window", "-x", "60", "-y", "20")
			m.until("the page is as wide as the terminal", func() bool {
				s := m.screen()
				return strings.Contains(s, "SHARE") || strings.Contains(s, "MEMORY")
			})
			fits(t, m.screen(), 60)
			m.keys(end)
			m.waitFor("before", "ready>")
			m.until("the shell reads again", func() bool { return m.do("display-message", "-p", "#{pane_current_command}") == "sh\n" })
			m.keys("clear; echo status $?; stty -a | grep -o '.echo\\b'; stty -a | grep -o '.icanon'", "Enter")
			m.waitFor(" echo", " icanon")
			m.do("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
			if cursor := m.do("display-message", "-p", "#{cursor_flag} #{alternate_on} #{wrap_flag}"); cursor != "1 0 1\n" {
				t.Errorf("after %s the terminal has cursor, other screen, lines that wrap: %s", end, cursor)
			}
			m.keys("clear", "Enter")
		}
	}
}

// fits demands that no line is wider than the terminal.
func fits(t *testing.T, screen string, width int) {
	t.Helper()
	for line := range strings.Lines(screen) {
		if line = strings.TrimSuffix(line, "\n"); human.Width(line) > width {
			t.Errorf("in %d columns: %q", width, line)
		}
	}
}

// TestValuesOnATerminal repeats the heading on each screen.
func TestValuesOnATerminal(t *testing.T) {
	t.Parallel()
	peer(t, "tmux")
	recorder, replay := recorderAndReplay(t)
	dir := filepath.Join(t.TempDir(), "d")
	m := newTmux(t, 70, 12)
	m.keys("mkdir "+dir+"; "+replay+" values kernel.all.load --follow --archive "+dir, "Enter")
	m.waitFor("waiting for one")
	records(t, recorder, dir, "100ms")
	m.waitFor("TIME ", "1 minute")
	m.until("it has gone on for a screen", func() bool {
		return strings.Count(m.do("capture-pane", "-p", "-S", "-100"), "TIME  ") >= 2
	})
	m.keys("C-c")
	m.waitFor("ready>")
	m.keys("echo status $?", "Enter")
	m.waitFor("status 130")
}
