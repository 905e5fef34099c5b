package site

import (
	"strings"
	"testing"
)

const macAgents = `# Name  Id      IPC     IPC Params      File/Cmd
root	1	pipe	binary		/pmdas/root/pmdaroot
proc	3	pipe	binary		/pmdas/proc/pmdaproc -d 3
darwin	78	dso	darwin_init	/pmdas/darwin/pmda_darwin.dylib

[access]
disallow ".*" : store;
allow "local:*" : all;
`

var ours = []Line{{"tachograph", 500, "pipe\tbinary\t/r pmda"}}

var native = []Line{ours[0], {"proc", 3, "pipe\tbinary\t/r pmda 3"}, {"darwin", 78, "pipe\tbinary\t/r pmda 78"}}

func TestLinesComeAndGo(t *testing.T) {
	line := ours[0].text()
	for _, tc := range []struct {
		name, text string
		lines      []Line
		replace    bool
		want       string
	}{
		{"before the access", macAgents, ours, false, strings.Replace(macAgents, "dylib\n", "dylib\n"+line, 1)},
		{"in the place of PCP's", macAgents, native, true, `# Name  Id      IPC     IPC Params      File/Cmd
root	1	pipe	binary		/pmdas/root/pmdaroot
proc	3	pipe	binary	/r pmda 3
darwin	78	pipe	binary	/r pmda 78
` + line + macAgents[strings.Index(macAgents, "\n[access]"):]},
		{"no access, a line over two", "root 1 pipe binary \\\n  /x\n", ours, false, "root 1 pipe binary \\\n  /x\n" + line},
		{"access alone", "# none\n[access]\nallow \"*\" : all;\n", ours, false, "# none\n" + line + "[access]\nallow \"*\" : all;\n"},
		{"empty", "", ours, false, line},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, swaps, err := addLines([]byte(tc.text), tc.lines, tc.replace, "pmcd.conf")
			if err != nil || string(got) != tc.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, tc.want)
			}
			if back := takeLines(got, swaps); string(back) != tc.text {
				t.Errorf("taken out again\n%s", back)
			}
			// As pmdaproc.sh leaves it: words apart by other spaces, comments first.
			sorted := strings.ReplaceAll(string(got), "\t", "  ")
			if back := takeLines([]byte(sorted), swaps); strings.Contains(string(back), "/r pmda") {
				t.Errorf("rewritten by another: ours is still there\n%s", back)
			}
		})
	}
}

func TestLinesThatClash(t *testing.T) {
	for _, tc := range []struct {
		lines   []Line
		replace bool
		want    string
	}{
		{native, false, "PCP's agent proc has domain 3, and the names that go with it (--replace takes its place, and remove gives it back; --beside leaves it, and puts everything below tachograph)"},
		{[]Line{{"tachograph", 1, "x"}}, true, `domain 1 belongs to the agent "root" in pmcd.conf (give another one with --domain, of 385 to 510)`},
		{[]Line{{"root", 500, "x"}}, true, `pmcd.conf has an agent "root" of domain 1 already, which recorder pmda install did not put there (take it away first: run ./Remove in its directory, or delete the line)`},
	} {
		if _, _, err := addLines([]byte(macAgents), tc.lines, tc.replace, "pmcd.conf"); err == nil || err.Error() != tc.want {
			t.Errorf("%v: %v", tc.lines, err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(macAgents))
	f.Add([]byte("a 1 \\\n\n[x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, swaps, err := addLines(text, ours, false, "pmcd.conf")
		if err != nil {
			return
		}
		if e := parseConf(got).of(500); e == nil || e.label != Agent {
			t.Fatalf("it is not there: %q", got)
		}
		if back := string(takeLines(got, swaps)); back != string(text) && back != string(text)+"\n" {
			t.Fatalf("%q became %q", text, back)
		}
	})
}
