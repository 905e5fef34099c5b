package browse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/store/storetest/proof"
)

// TestGolden goes through the journeys in testdata/*.golden and compares what stands
// on the screen, and how it looks, after each line of keys. A file begins with a line
//
//	# mac.txt|linux WIDTHxHEIGHT [color] [ascii] [at=TIME]
//
// and a line "> KEYS" presses keys; "> resize WxH" and "> click X Y" do what they say.
func TestGolden(t *testing.T) {
	proof.Unraced(t)
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".golden"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := journey(t, string(want))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", f, firstDifference(string(want), got))
			}
		})
	}
}

// The picture in the guide is what is drawn.
func TestPictureInTheGuide(t *testing.T) {
	const path = "../../../../docs/LOOK.md"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	begin := strings.Index(text, "```\nweb-1  linux")
	if begin < 0 {
		t.Fatal("docs/LOOK.md has no picture")
	}
	begin += len("```\n")
	end := begin + strings.Index(text[begin:], "```")
	r := newRig(t, linux(t), look{width: 80, height: 24, color: true, at: at(3*time.Hour + 10*time.Minute)})
	got := strings.Join(r.rows(), "\n") + "\n"
	switch want := text[begin:end]; {
	case *update:
		if err := os.WriteFile(path, []byte(text[:begin]+got+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("docs/LOOK.md shows another screen (go test -update writes it anew): %s", firstDifference(want, got))
	}
}

// journey goes through a golden file and writes it anew.
func journey(t *testing.T, file string) string {
	first, rest, _ := strings.Cut(file, "\n")
	words := strings.Fields(strings.TrimPrefix(first, "# "))
	l := look{}
	if _, err := fmt.Sscanf(words[1], "%dx%d", &l.width, &l.height); err != nil {
		t.Fatalf("%s: %v", first, err)
	}
	for _, w := range words[2:] {
		switch at, isTime := strings.CutPrefix(w, "at="); {
		case w == "color":
			l.color = true
		case w == "ascii":
			l.ascii = true
		case isTime:
			when, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			l.at = when.UnixNano()
		}
	}
	var e Engine
	if words[0] == "linux" {
		e = linux(t)
	} else {
		e = recordingOf(t, "../../testdata/"+words[0])
	}
	r := newRig(t, e, l)
	var b strings.Builder
	b.WriteString(first + "\n")
	for _, s := range strings.Split(rest, "\n") {
		keys, ok := strings.CutPrefix(s, "> ")
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "\n> %s\n", keys)
		r.act(keys)
		looks := r.looks()
		for _, row := range r.rows() {
			b.WriteString(strings.TrimRight("|"+row, " ") + "\n")
		}
		for i, row := range looks {
			if row != "" {
				fmt.Fprintf(&b, "%3d %s\n", i, row)
			}
		}
	}
	return b.String()
}

// act does what a line of a golden file says.
func (r *rig) act(line string) {
	r.t.Helper()
	var x, y int
	if _, err := fmt.Sscanf(line, "resize %dx%d", &x, &y); err == nil {
		r.resize(x, y)
		return
	}
	if _, err := fmt.Sscanf(line, "click %d %d", &x, &y); err == nil {
		r.click(x, y)
		return
	}
	if line == "look" {
		return
	}
	for line != "" {
		var word string
		if strings.HasPrefix(line, "'") {
			end := strings.Index(line[1:], "'") + 2
			word, line = line[:end], strings.TrimSpace(line[end:])
		} else {
			word, line, _ = strings.Cut(line, " ")
		}
		r.keys(word)
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) {
			return fmt.Sprintf("line %d: want %q, got the end", i+1, w[i])
		}
		if w[i] != g[i] {
			return fmt.Sprintf("line %d:\nwant %s\n got %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("there is more: %q", g[len(w)])
}
