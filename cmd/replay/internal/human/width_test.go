package human

import (
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "e\u0301": 1, "▁▅█": 3, "한글": 4, "👩‍🚀": 2, "ｆｕｌｌ": 8, "ﾊﾝｶｸ": 4, "…": 1, "°C": 2,
	} {
		t.Run(s, func(t *testing.T) {
			if got := Width(s); got != want {
				t.Errorf("Width(%q) = %d, want %d", s, got, want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"abc", 1, "…"}, {"abc", 0, ""},
	} {
		t.Run(c.s, func(t *testing.T) {
			if got := Cut(c.s, c.width); got != c.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.width, got, c.want)
			}
			if got := Cut(c.s, c.width); Width(got) > c.width {
				t.Errorf("Cut(%q, %d) is %d wide", c.s, c.width, Width(got))
			}
		})
	}
}

func TestCutAt(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		place Place
		want  string
	}{
		{"kernel.all.load", 20, AtStart, "kernel.all.load"},
		{"kernel.all.load", 9, AtStart, "…all.load"},
		{"kernel.all.load", 9, AtEnd, "kernel.a…"},
		{"/srv/containers/merged", 11, InMiddle, "/srv/…erged"},
		{"4194303 java -jar a", 12, InMiddle, "4194303…ar a"},
		{"4194303 java -jar a", 8, InMiddle, "4194303…"},
		{"4194303 java -jar a", 7, InMiddle, "…-jar a"},
		{"日本語のプロセス", 7, AtStart, "…ロセス"},
		{"日本語のプロセス", 8, AtStart, "…ロセス"},
		{"日本語のプロセス", 8, InMiddle, "日…セス"},
		{"abc", 1, AtStart, "…"},
		{"abc", 0, InMiddle, ""},
	} {
		got := CutAt(c.text, c.width, c.place)
		if got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.width, got, c.want)
		}
		if Width(got) > c.width {
			t.Errorf("%q in %d columns takes %d", c.text, c.width, Width(got))
		}
	}
}

// Words that are longer than a line are broken; nothing is lost.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 8, "one two|three"},
		{"a /srv/containers b", 8, "a|/srv/con|tainers|b"},
		{"日本語", 3, "日|本|語"},
		{"日本", 1, "日本"},
		{"", 5, ""},
	} {
		if got := strings.Join(Wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
