package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// clock returns a Context whose time advances by a second at every call of Now.
func clock(events *[]metric.Event) *sample.Context {
	t := metric.Stamp{Wall: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano()}
	return &sample.Context{
		Now: func() metric.Stamp {
			t.Wall += int64(time.Second)
			t.Cont += int64(time.Second)
			return t
		},
		Emit: func(e metric.Event) {
			if events != nil {
				*events = append(*events, e)
			}
		},
	}
}

func everything(*metric.Desc) bool { return true }

// framesOf makes frames for all groups of a source.
func framesOf(s sample.Source) []*sample.Frame {
	var fs []*sample.Frame
	for _, g := range s.Groups() {
		if f := sample.NewFrame(g, everything); f != nil {
			fs = append(fs, f)
		}
	}
	return fs
}

// cell identifies a value of a reading, by names.
type cell struct{ name, instance string }

// readAll reads a source once and returns its cells.
func readAll(t testing.TB, c *sample.Context, s sample.Source) map[cell]metric.Value {
	t.Helper()
	fs := framesOf(s)
	if len(fs) == 0 {
		return nil
	}
	if err := s.Read(c, fs); err != nil {
		t.Fatalf("%s: %v", s.Name(), err)
	}
	return cells(fs)
}

func cells(fs []*sample.Frame) map[cell]metric.Value {
	got := make(map[cell]metric.Value)
	for _, f := range fs {
		b := f.Block()
		for row, in := range b.Rows {
			name := ""
			if in != nil {
				name = in.Name
			}
			for col, d := range b.Group.Metrics {
				got[cell{d.Name, name}] = b.Cols[col].At(d.Type, row)
			}
		}
	}
	return got
}

// tree writes files below a fresh root directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		write(t, root, name, text)
	}
	return root
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// The file must stay the same: sources keep it open, as they do with files of /proc.
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// expect compares the cells that want names.
func expect(t *testing.T, got map[cell]metric.Value, want map[cell]string) {
	t.Helper()
	for c, w := range want {
		v, ok := got[c]
		switch {
		case !ok:
			t.Errorf("%s[%s] was not read", c.name, c.instance)
		case v.Miss != metric.Present:
			if w != "absent: "+v.Miss.String() {
				t.Errorf("%s[%s] is absent: %s, want %s", c.name, c.instance, v.Miss, w)
			}
		case v.String() != w:
			t.Errorf("%s[%s] = %s, want %s", c.name, c.instance, v, w)
		}
	}
}

// needLinux skips a test that reads the machine itself.
func needLinux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("this is not Linux")
	}
}
