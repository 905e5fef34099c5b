package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
)

// TestDamageIsMarked: what verify finds and what info says of damage fits the terminal
// and is marked where there is colour; without it the same letters stand there.
func TestDamageIsMarked(t *testing.T) {
	t.Parallel()
	path := finishedArchive(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(fullest(whole, 1024), make([]byte, 1024))
	damaged := filepath.Join(t.TempDir(), "damaged.tacho")
	if err := os.WriteFile(damaged, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(width int, color string, args ...string) (string, int) {
		var o, e strings.Builder
		a := newApp(&o, &e, testClock)
		a.width = width
		status := a.run(append(args, "--utc", "--color", color))
		return o.String(), status
	}
	for _, width := range []int{0, 40, 80, 160} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			plain, status := ask(width, "never", "verify", damaged)
			if status != cli.No || plain == "" {
				t.Fatalf("status %d: %s", status, plain)
			}
			colored, _ := ask(width, "always", "verify", damaged)
			for line := range strings.Lines(colored) {
				if !strings.HasPrefix(line, "\x1b[1;31m") || !strings.HasSuffix(line, "\x1b[0m\n") {
					t.Errorf("it is not marked: %q", line)
				}
			}
			if got := strings.NewReplacer("\x1b[1;31m", "", "\x1b[0m", "").Replace(colored); got != plain {
				t.Errorf("in colour it is\n%s\nwithout\n%s", got, plain)
			}
			for line := range strings.Lines(plain) {
				if n := human.Width(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if sound, status := ask(width, "always", "verify", path); status != cli.Yes || strings.Contains(sound, "\x1b") {
				t.Errorf("status %d: %q", status, sound)
			}
		})
	}
	t.Run("info", func(t *testing.T) {
		var o strings.Builder
		p := newApp(&o, &strings.Builder{}, testClock)
		p.width, p.color = 60, true
		p.stdout.Styles(true)
		p.labelledAs("damage     ", "the chunk at 03:00 is damaged and what stood in it is lost for good", true)
		if got := o.String(); got != "damage     \x1b[1;31mthe chunk at 03:00 is damaged and what stood in\x1b[0m\n           \x1b[1;31mit is lost for good\x1b[0m\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestComplaintsFit: what is no part of the answer is broken between words on a
// terminal, too, and the place an error points at stays where it is.
func TestComplaintsFit(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"values kernel.all.load --from 2026-11-21 --archive testdata/mac.txt", "ps nosuch --archive testdata/mac.txt", "values nosuch --archive testdata/mac.txt",
		"events testdata/mac.txt", "find kernel.all.load --archive testdata/mac.txt", "threads --archive testdata/long.txt", "rates --nosuch",
	} {
		ask := func(width int) string {
			var o, e strings.Builder
			a := newApp(&o, &e, testClock)
			a.Open, a.width, a.progress = openText, width, true
			a.run(append(words(question), "--utc"))
			return e.String()
		}
		whole := strings.Join(strings.Fields(ask(0)), " ")
		for _, width := range []int{40, 80, 160} {
			said := ask(width)
			if got := strings.Join(strings.Fields(said), " "); got != whole {
				t.Errorf("%s in %d columns: %s, want %s", question, width, got, whole)
			}
			for line := range strings.Lines(said) {
				if n := human.Width(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: %d columns: %s", question, n, line)
				}
			}
		}
	}
}
