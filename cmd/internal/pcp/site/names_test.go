package site

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const small = `root {
	pmcd
	kernel
	mmv	70:*:*
}

pmcd {
	pid	2:0:23
}

kernel {
	all
}

kernel.all {
	load	60:2:0
}
`

func names(pairs ...string) []Name {
	var all []Name
	for _, p := range pairs {
		name, id, _ := strings.Cut(p, " ")
		all = append(all, Name{name, id})
	}
	return all
}

func TestNamesComeAndGo(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		add        []Name
		ours       int
		want       string
	}{
		{"a tree of its own", small, names("tachograph.disk.read 500:1:1", "tachograph.cpu 500:0:1"), 2,
			strings.Replace(small, "\tmmv\t70:*:*\n", "\tmmv\t70:*:*\n\ttachograph\n", 1) + "\ntachograph {\n\tdisk\n\tcpu\t500:0:1\n}\n\ntachograph.disk {\n\tread\t500:1:1\n}\n"},
		{"among others' names", small, names("kernel.all.nprocs 60:2:9", "kernel.all.load 60:2:0", "kernel.limits.maxproc 60:3:1"), 2,
			strings.Replace(strings.Replace(small, "\tload\t60:2:0\n", "\tload\t60:2:0\n\tnprocs\t60:2:9\n", 1), "\tall\n", "\tall\n\tlimits\n", 1) + "\nkernel.limits {\n\tmaxproc\t60:3:1\n}\n"},
		{"nothing", small, nil, 0, small},
		{"a file by hand", "/* names */\nroot { pmcd }\npmcd { pid 2:0:23 }\n", names("a.b 500:0:0"), 1,
			"/* names */\nroot { pmcd\n \ta\n}\npmcd { pid 2:0:23 }\n\na {\n\tb\t500:0:0\n}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ours, err := addNames([]byte(tc.text), tc.add, "root")
			if err != nil || len(ours) != tc.ours {
				t.Fatalf("%d of ours, %v", len(ours), err)
			}
			if tc.name != "a file by hand" && string(got) != tc.want {
				t.Errorf("%s\nwant\n%s", got, tc.want)
			}
			s, err := parseNames(got)
			if err != nil {
				t.Fatal(err)
			}
			have := s.leaves()
			for _, n := range tc.add {
				if have[n.Name] != n.ID {
					t.Errorf("%s is %q", n.Name, have[n.Name])
				}
			}
			back, err := takeNames(got, ours)
			if err != nil {
				t.Fatal(err)
			}
			if tc.name != "a file by hand" && string(back) != tc.text {
				t.Errorf("taken out again\n%s", back)
			}
			was, _ := parseNames([]byte(tc.text))
			is, err := parseNames(back)
			if err != nil || fmt.Sprint(was.leaves()) != fmt.Sprint(is.leaves()) {
				t.Errorf("%v: %v", err, is.leaves())
			}
		})
	}
}

func TestNamesThatClash(t *testing.T) {
	for _, tc := range []struct{ add, want string }{
		{"kernel.all.load 78:9:9", "the name kernel.all.load has the number 60:2:0 in root, and would get 78:9:9 (remove the agent whose it is)"},
		{"kernel.all 500:0:0", "the name kernel.all is one of other metrics' parents in root (remove the agent whose they are)"},
		{"mmv.x 500:0:0", "mmv is a metric in root (70:*:*), so that mmv.x cannot be one (remove the agent whose it is)"},
	} {
		_, _, err := addNames([]byte(small), names(tc.add), "root")
		if clash := (*Clash)(nil); !errors.As(err, &clash) || err.Error() != tc.want {
			t.Errorf("%s: %v", tc.add, err)
		}
	}
	for _, text := range []string{"", "root {", "root { a } }", "a b {", "root { a { } }", "root { } root { }", "{ }"} {
		if _, _, err := addNames([]byte(text), names("a.b 500:0:0"), "root"); err == nil {
			t.Errorf("%q is a name space", text)
		}
	}
}

// What others have written anew and sorted loses what is ours, and nothing else.
func TestNamesThatOthersHaveRewritten(t *testing.T) {
	text := "root {\n\ttachograph\n\tkernel\n}\n\ntachograph {\n\ta\t500:0:1\n\tb\n}\n\ntachograph.b {\n\tc\t500:0:2\n\ttheirs\t9:0:0\n}\n\nkernel {\n\tall\t60:0:0\n}\n"
	back, err := takeNames([]byte(text), names("tachograph.a 500:0:1", "tachograph.b.c 500:0:2", "tachograph.gone 500:0:3", "kernel.all 61:0:0"))
	want := "root {\n\ttachograph\n\tkernel\n}\n\ntachograph {\n\tb\n}\n\ntachograph.b {\n\ttheirs\t9:0:0\n}\n\nkernel {\n\tall\t60:0:0\n}\n"
	if err != nil || string(back) != want {
		t.Errorf("%v\n%s", err, back)
	}
}

func FuzzNames(f *testing.F) {
	f.Add([]byte(small), "tachograph.x.y", "500:0:1")
	f.Add([]byte("/* x */ root { a\n#if 1\n b 1:2:3 } a { c 1:1:1 }"), "a.d", "500:0:1")
	f.Fuzz(func(t *testing.T, text []byte, name, id string) {
		for _, part := range strings.Split(name, ".") {
			if part == "" || strings.ContainsAny(name, " \t\r\n{}:#/") || !strings.Contains(id, ":") || strings.ContainsAny(id, " \t\r\n{}#/") {
				return
			}
		}
		if name == "root" || strings.HasPrefix(name, "root.") {
			return
		}
		was, err := parseNames(text)
		if err != nil {
			return
		}
		before := fmt.Sprint(was.leaves())
		got, ours, err := addNames(bytes.Clone(text), []Name{{name, id}}, "root")
		if err != nil {
			return
		}
		is, err := parseNames(got)
		if err != nil || is.leaves()[name] != id {
			t.Fatalf("%v\n%s", err, got)
		}
		back, err := takeNames(got, ours)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseNames(back)
		if err != nil || fmt.Sprint(after.leaves()) != before {
			t.Fatalf("%v\n%s", err, back)
		}
	})
}
