package human

import "testing"

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
