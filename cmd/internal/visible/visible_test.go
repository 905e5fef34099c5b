package visible

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Google Chrome Helper", "Google Chrome Helper"},
		{"letters", "Müller 北京 \uf8ff 🎉", "Müller 北京 \uf8ff 🎉"},
		{"osc52", "a\x1b]52;c;ZWNobw==\x07b", `a\x1b]52;c;ZWNobw==\x07b`},
		{"lines", "one\ntwo\r\tthree", `one\ntwo\r\tthree`},
		{"c1 as a letter", "a\u009b31m", `a\u009b31m`},
		{"c1 as a byte", "a\x9b31m", `a\x9b31m`},
		{"delete", "a\x7f", `a\u007f`},
		{"override", "exe\u202egpj", `exe\u202egpj`},
		{"isolates", "\u2066a\u2069", `\u2066a\u2069`},
		{"marks", "a\u200e\u061c", `a\u200e\u061c`},
		{"zero width", "pay\u200bpal\ufeff\u2060\u00ad", `pay\u200bpal\ufeff\u2060\u00ad`},
		{"fillers", "a\u3164\u115f\ufe0f", `a\u3164\u115f\ufe0f`},
		{"line separators", "a\u2028b\u2029", `a\u2028b\u2029`},
		{"tags", "a\U000e0001", `a\udb40\udc01`},
		{"no letters", "a\ufffe\ufdd0\U0001ffff", `a\ufffe\ufdd0\ud83f\udfff`},
		{"no text", "a\xff\xe2\x80", `a\xff\xe2\x80`},
		{"replacement", "a\ufffd", "a\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.in); got != c.want {
				t.Errorf("%q is shown as %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestWriter(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b strings.Builder
		w := NewWriter(&b, terminal)
		w.Printf("%s|%-4s|%d|%v\n", "a\nb\x1b[1m", "ä", 7, errors.New("no\rgood"))
		w.Println(Bold("head\x1b[2J"), "tail\u202e")
		w.Write([]byte("left over\x1b]0;title\x07\tand\r\n"))
		w.Write([]byte("\r\x1b[Kbar"))
		want := `a\nb\x1b[1m|ä   |7|no\rgood` + "\n"
		if terminal {
			want += "\x1b[1mhead\\x1b[2J\x1b[0m tail\\u202e\n" + `left over\x1b]0;title\x07` + "\tand\\r\n\r\x1b[Kbar"
		} else {
			want += `\x1b[1mhead\x1b[2J\x1b[0m tail\u202e` + "\n" + `left over\x1b]0;title\x07` + "\tand\\r\n" + `\r\x1b[Kbar`
		}
		if got := b.String(); got != want {
			t.Errorf("terminal %v:\n%q, want\n%q", terminal, got, want)
		}
	}
}

// Letters arrive in pieces where buffers end.
func TestWriterCutsNoLetter(t *testing.T) {
	const text = "größer 北京 🎉 \u202e end\xe2"
	var b strings.Builder
	w := NewWriter(&b, false)
	for i := range len(text) {
		if n, err := w.Write([]byte(text[i : i+1])); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	w.Flush()
	if got, want := b.String(), `größer 北京 🎉 \u202e end\xe2`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b]0;x\x07\u202e\xff\n", 3)
	f.Fuzz(func(t *testing.T, s string, at int) {
		got := Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, Acts) {
			t.Fatalf("%q is shown as %q", s, got)
		}
		if again := Text(got); again != got {
			t.Fatalf("%q becomes %q", got, again)
		}
		var b strings.Builder
		w := NewWriter(&b, false)
		cut := min(max(at, 0), len(s))
		w.Write([]byte(s[:cut]))
		w.Write([]byte(s[cut:]))
		w.Flush()
		if !utf8.ValidString(b.String()) || strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(b.String()), Acts) {
			t.Fatalf("%q is written as %q", s, b.String())
		}
		// What is escaped in json stays json.
		quoted, _ := json.Marshal(s)
		var back string
		if err := json.Unmarshal([]byte(Text(string(quoted))), &back); err != nil {
			t.Fatalf("%q: %v", Text(string(quoted)), err)
		}
	})
}

// Each byte is looked at, wherever it stands.
func TestShown(t *testing.T) {
	for c := range 256 {
		for at := range 19 {
			b := []byte("letters and\nletters")
			b[at] = byte(c)
			if want := c >= ' ' && c < 0x7f || c == '\n'; Plain(b) != want {
				t.Errorf("byte %#x at %d: %v", c, at, !want)
			}
		}
	}
}

func TestLocale(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"LANG": "C"}, false}, {map[string]string{"LANG": "de_DE.UTF-8"}, true}, {map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, false}, {map[string]string{"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, false},
	} {
		t.Run(fmt.Sprint(c.env), func(t *testing.T) {
			if got := UTF8(func(name string) string { return c.env[name] }); got != c.want {
				t.Errorf("%v: %v", c.env, got)
			}
		})
	}
}
