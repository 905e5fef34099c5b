package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
)

// shellWords splits a line as a real shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `for w in `+line+`; do printf '%s\0' "$w"; done`).Output()
	if err != nil {
		t.Fatalf("a shell does not read %s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// Every command that is printed for repetition gives the same answer, read by a
// shell as it stands, later and from another directory.
func TestPrintedCommandsWork(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	const mac, fleet, odd = "testdata/mac.txt", "testdata/fleet.txt", "testdata/semantics.txt"
	derived := t.TempDir() + "/some derived"
	if err := os.WriteFile(derived, []byte("twice = kernel.all.load * 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{mac},
		{"--archive", mac, "--from", "-25m", "--to", "+10m"},
		{"--archive", mac, "--from", "3:02am", "--tz", "Europe/Berlin"},
		{fleet, "--host", "serv*"},
		{"at", "-25m", "--archive", mac},
		{"at", "03:12", "--archive", mac, "--format", "csv"},
		{"at", "end-2m", "--archive", mac, "--tz", "+02:00"},
		{"at", "today 03:12", "--archive", mac, "--utc"},
		{"why", "--from", "03:01", "--to", "+9m", "--archive", mac, "--format", "json"},
		{"diff", "03:00..03:10", "03:10..03:20", "--archive", mac},
		{"diff", "-30m..-20m", "-20m..-10m", "--archive", mac, "-n", "3"},
		{"diff", "--at", "03:10", "--before", "10m", "--archive", mac},
		{"diff", "--before", "5m", "--after", "2m", "--archive", mac, "--all"},
		{"ps", "--archive", mac},
		{"ps", "--at", "-20m", "--tree", "--archive", mac},
		{"ps", "burner", "--from", "-30m", "--archive", mac},
		{"ps", "/burn.*|mds/", "-n", "2", "--archive", mac, "--format", "json"},
		{"top", "--by", "write", "--group", "name", "--archive", mac},
		{"energy", "--on-battery", "--group", "app", "--archive", "testdata/energy.txt"},
		{"net", "--group", "owner", "-n", "3", "--archive", "testdata/net.txt"},
		{"net", "--at", "03:07", "--connections", "--archive", "testdata/net.txt"},
		{"net", "nginx", "--peers", "--from", "03:05", "--archive", "testdata/net.txt"},
		{"rates", "disk.all.write_bytes", "kernel.all.load", "--step", "1m", "--archive", mac, "-i", "1*"},
		{"rates", "-1 * mem.util.used", "--from", "-25m", "--to", "+1m", "--archive", mac},
		{"values", "twice", "--derived", derived, "--archive", mac, "--from", "end-1m"},
		{"values", "mem.util.used", "--archive", mac, "--from", "03:19", "--units", "MB", "--format", "csv"},
		{"ranges", "mem", "--rates", "--quick", "--archive", mac},
		{"plot", "mem.util.used", "--height", "3", "--archive", mac},
		{"find", "kernel.all.load > 0.1", "--for", "10s", "--archive", mac},
		{"find", "-1 < kernel.all.load", "--archive", mac},
		{"events", mac, "--kind", "process*"},
		{"events", odd, "--kind", "*"},
		{"explain", "mem.util.used", "--archive", mac},
		{"summary", fleet},
		{"info", mac, "--format", "json"},
		{"metrics", "mem", "--all", "--archive", mac},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			want, errs, _ := replayAt(testNow, append(args, "--show-command")...)
			text := want
			if !strings.Contains(want, "\n# replay ") {
				text = errs // What programs read goes to stdout alone.
			}
			_, line, ok := strings.Cut(text, "\n# replay")
			if !ok {
				t.Fatalf("no command is printed:\n%s%s", want, errs)
			}
			line, _, _ = strings.Cut(line, "\n")
			got, errs, status := replayAt(testNow.Add(26*time.Hour), append(shellWords(t, line), "--show-command")...)
			if status == cli.Failed || got != want {
				t.Errorf("replay%s: status %d %s\n%s", line, status, errs, firstDifference(want, got))
			}
		})
	}
}

// The examples of the help are command lines that are understood.
func TestExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	root := newApp(nil, nil, nil).command()
	n := 0
	for _, c := range root.Commands() {
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			n++
			t.Run(line, func(t *testing.T) {
				a := newApp(nil, nil, nil)
				root := a.command()
				cmd, rest, err := root.Find(withNegatives(root, shellWords(t, line)[1:]))
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
				if err != nil || cmd.Name() != c.Name() {
					t.Errorf("%s: %v", cmd.Name(), err)
				}
			})
		}
	}
	if n < 10 {
		t.Errorf("only %d examples", n)
	}
}

func TestVersionBothWays(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}} {
		t.Run(args[0], func(t *testing.T) {
			if out, errs, status := replayAt(testNow, args...); status != cli.Yes || !strings.HasPrefix(out, "replay ") {
				t.Errorf("%v: status %d %s%s", args, status, out, errs)
			}
		})
	}
}
