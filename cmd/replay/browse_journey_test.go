package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// journeyEnv names archives to travel through instead of what is being recorded
// here; the same that go test -bench Moves ./cmd/replay/internal/moment goes through.
const journeyEnv = "TACHO_MOVES"

// shownTime is the moment that is shown, above the page.
var shownTime = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \S+`)

// TestBrowseJourney travels through a recording on a terminal, as a user does: opens
// it, steps, jumps, filters, sorts, looks at a life and at what differs, resizes and
// quits. It tells how long the terminal takes to show each.
func TestBrowseJourney(t *testing.T) {
	t.Parallel()
	peer(t, "tmux")
	recorder, replay := recorderAndReplay(t)
	command, process := replay+" browse "+os.Getenv(journeyEnv), "python3"
	if os.Getenv(journeyEnv) == "" {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		startProgram(t, nil, recorder, "run", "--archive", dir)
		command, process = replay+" browse --follow "+dir, "recorder"
	}
	m := newTmux(t, 120, 30)
	j := &journey{tmux: m}
	j.press("open", []string{"clear; echo before; " + command, "Enter"}, "1 system 2 processes", " PID ")
	if os.Getenv(journeyEnv) == "" {
		first := j.now()
		j.until("follow", func(string) bool { return j.now() != first })
		// The journey goes back by seconds, and must not arrive before the first
		// processes were read: they are read at the start and at the next round moment.
		m.until("processes were read twice, and ten seconds lie behind", func() bool {
			return strings.Contains(m.screen(), "; since ") && between(t, first, j.now()) >= 10*time.Second
		})
	}
	for range 3 {
		j.moves("a sample back", "Left")
	}
	j.moves("a sample on", "Right")
	j.press("jump: ask", []string{"b"}, "go to:")
	m.keys("-l", "--", "-1s")
	m.waitFor("go to: -1s")
	j.moves("jump", "Enter")
	j.press("filter: ask", []string{"/"}, "/")
	m.keys("-l", process)
	m.waitFor(process)
	j.press("filter", []string{"Enter"}, "only "+process)
	j.press("sort", []string{"M"}, "by memory")
	j.press("life", []string{"Enter"}, "in all", "┌─ "+process)
	j.gone("close a window", "Escape", "┌─ "+process)
	j.press("mark", []string{"m"}, "mark a second moment")
	j.moves("a sample back", "Left")
	j.moves("a sample back", "Left")
	j.press("difference", []string{"m"}, "what differs from")
	j.gone("close a window", "Escape", "what differs from")
	for _, page := range []struct{ key, shows string }{{"1", "user"}, {"3", "VOLUME"}, {"2", " PID "}} {
		j.press("a page", []string{page.key}, page.shows)
	}
	j.press("help", []string{"?"}, "through time")
	j.gone("close a window", "Escape", "through time")
	for _, size := range [][2]int{{120, 40}, {40, 12}, {160, 50}, {80, 24}} {
		m.do("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
		j.until("resize", func(screen string) bool {
			lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
			return len(lines) >= size[1]-1 && strings.Contains(screen, "2 processes") && shownTime.MatchString(screen)
		})
		fits(t, m.screen(), size[0])
	}
	j.press("quit", []string{"q"}, "before", "# replay browse --at", "ready>")
	m.until("the shell reads again", func() bool { return m.do("display-message", "-p", "#{pane_current_command}") == "sh\n" })
	m.keys("clear; echo status $?; stty -a | grep -o '.echo\\b'; stty -a | grep -o '.icanon'", "Enter")
	m.waitFor("status 0", " echo", " icanon")
	if state := m.do("display-message", "-p", "#{cursor_flag} #{alternate_on} #{wrap_flag} #{mouse_any_flag}"); state != "1 0 1 0\n" {
		t.Errorf("afterwards the terminal has cursor, other screen, lines that wrap, a mouse that is told: %s", state)
	}
	t.Log(j.said.String())
}

// journey measures how long it takes until the terminal shows what was asked for.
type journey struct {
	*tmux
	said strings.Builder
}

// press presses keys and waits for texts.
func (j *journey) press(what string, keys []string, texts ...string) {
	j.t.Helper()
	began := time.Now()
	j.keys(keys...)
	j.tmux.until(fmt.Sprintf("%s: %q is shown", what, texts), func() bool {
		screen := j.screen()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
	j.tell(what, time.Since(began))
}

// moves presses a key that leads to another moment, again where two samples were
// taken in the same second.
func (j *journey) moves(what, key string) {
	j.t.Helper()
	was := j.now()
	began := time.Now()
	j.keys(key)
	j.tmux.until(what+": another moment is shown", func() bool {
		if now := j.now(); now != "" && now != was {
			return true
		}
		if time.Since(began) > 2*time.Second {
			began = time.Now()
			j.keys(key)
		}
		return false
	})
	j.tell(what, time.Since(began))
}

// gone presses a key that takes something off the screen.
func (j *journey) gone(what, key, text string) {
	j.t.Helper()
	began := time.Now()
	j.keys(key)
	j.tmux.until(what+": "+text+" is gone", func() bool { return !strings.Contains(j.screen(), text) })
	j.tell(what, time.Since(began))
}

func (j *journey) until(what string, shown func(screen string) bool) {
	j.t.Helper()
	began := time.Now()
	j.tmux.until(what, func() bool { return shown(j.screen()) })
	j.tell(what, time.Since(began))
}

// now is the moment that is shown.
func (j *journey) now() string { return shownTime.FindString(j.screen()) }

// between is how long after one shown moment another is.
func between(t *testing.T, from, to string) time.Duration {
	t.Helper()
	if to == "" {
		return 0
	}
	var at [2]time.Time
	for i, text := range []string{from, to} {
		var err error
		if at[i], err = time.Parse("2006-01-02 15:04:05 MST", text); err != nil {
			t.Fatal(err)
		}
	}
	return at[1].Sub(at[0])
}

func (j *journey) tell(what string, took time.Duration) {
	fmt.Fprintf(&j.said, "\n%-16s %6.1f ms", what, float64(took.Microseconds())/1000)
}
