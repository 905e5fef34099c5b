package main

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/storetest/proof"
)

func TestWantsColor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag     string
		terminal bool
		env      string
		want     bool
	}{
		{"auto", true, "", true},
		{"auto", false, "", false},
		{"auto", true, "NO_COLOR=1", false},
		{"auto", true, "TERM=dumb", false},
		{"auto", true, "CLICOLOR=0", false},
		{"auto", true, "CLICOLOR=1", true},
		{"auto", false, "CLICOLOR_FORCE=1", true},
		{"auto", false, "CLICOLOR_FORCE=0", false},
		{"auto", false, "CLICOLOR_FORCE=1 NO_COLOR=1", false},
		{"always", false, "NO_COLOR=1", true},
		{"never", true, "CLICOLOR_FORCE=1", false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			env := func(name string) string {
				for _, e := range strings.Fields(c.env) {
					if k, v, _ := strings.Cut(e, "="); k == name {
						return v
					}
				}
				return ""
			}
			if got := wantsColor(c.flag, c.terminal, env); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// Colour marks what is out of the ordinary and nothing else; without it the same
// letters stand there.
func TestAlarms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question string
		want     []string
	}{
		{"testdata/mac.txt", []string{"96 %", "96 %"}},
		{"testdata/fleet.txt --host server", nil},
		{"at end --archive testdata/mac.txt", []string{"96 %", "96 %"}},
		{"ps --archive testdata/long.txt", []string{"D"}},
		{"events testdata/mac.txt", nil},
		{"top --archive testdata/mac.txt", nil},
		{"ps --archive testdata/long.txt --format csv", nil},
	} {
		t.Run(c.question, func(t *testing.T) {
			plain, _, _ := replay(openText, append(words(c.question), "--utc", "--color", "never")...)
			colored, _, _ := replay(openText, append(words(c.question), "--utc", "--color", "always")...)
			var marked []string
			for _, part := range strings.Split(colored, "\x1b[1;31m")[1:] {
				text, _, _ := strings.Cut(part, "\x1b[0m")
				marked = append(marked, text)
			}
			if fmt.Sprint(marked) != fmt.Sprint(c.want) {
				t.Errorf("marked is %q, want %q", marked, c.want)
			}
			if strings.Contains(plain, "\x1b") {
				t.Errorf("there is colour without it: %q", plain)
			}
			got := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "", " --color=always", "").Replace(colored)
			if want := strings.ReplaceAll(plain, " --color=never", ""); got != want {
				t.Errorf("in colour it is\n%s\nwithout\n%s", got, want)
			}
		})
	}
}

// In a locale without other letters there is nothing but ASCII, on both outputs and in
// every help.
func TestASCII(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	ascii := func(question, text string) {
		for _, r := range text {
			if r >= 0x80 {
				t.Errorf("replay %s: %q", question, r)
				return
			}
		}
	}
	for _, question := range everyScreen {
		for _, width := range []int{0, 60} {
			var o, e strings.Builder
			a := newApp(&o, &e, testClock)
			a.Open, a.width, a.ascii = openText, width, true
			a.run(append(words(question), "--utc"))
			ascii(question, o.String()+e.String())
		}
	}
	for _, c := range newApp(nil, nil, testClock).command().Commands() {
		ascii(c.Name(), c.Long+c.Short+c.Example+c.UsageString())
	}
}
