package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store/disk"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func says(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

var errTest = errors.New("the disk is full")

func TestStream(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "out.csv")
	ctx := context.Background()
	if n, err := (Target{Path: at}).Stream(ctx, says("first")); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := (Target{Path: at}).Stream(ctx, says("second")); err == nil || !strings.Contains(err.Error(), "exists: --force") {
		t.Errorf("a file is overwritten: %v", err)
	}
	fails := func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("half of it", pieceBytes))
		if got := names(t, dir); !strings.Contains(got, "out.csv") || len(strings.Fields(got)) != 2 {
			t.Errorf("while it is written there are %s", got)
		}
		return errTest
	}
	if _, err := (Target{Path: at, Force: true}).Stream(ctx, fails); !errors.Is(err, errTest) {
		t.Error(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := (Target{Path: at, Force: true}).Stream(ended, says("ended")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, _ := os.ReadFile(at); string(got) != "first" || names(t, dir) != "out.csv" {
		t.Errorf("what failed has left %s with %q", names(t, dir), got)
	}
	if _, err := (Target{Path: at, Force: true}).Stream(ctx, says("second")); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(at); string(got) != "second" {
		t.Errorf("--force leaves %q", got)
	}
	var out bytes.Buffer
	if n, err := (Target{Path: "-", Stdout: &out}).Stream(ctx, says("out")); n != 3 || err != nil || out.String() != "out" {
		t.Error(n, err, out.String())
	}
	if _, err := (Target{Path: dir}).Stream(ctx, says("x")); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	if _, err := (Target{Path: filepath.Join(dir, "no", "file")}).Stream(ctx, says("x")); err == nil ||
		err.Error() != "cannot write "+filepath.Join(dir, "no", "file")+": no such file or directory" {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	base := Target{Path: filepath.Join(dir, "base")}
	suffixes := []string{".0", ".index"}
	write := func(files []*os.File) error {
		for i, f := range files {
			f.WriteString(suffixes[i])
		}
		return nil
	}
	if err := base.Files(context.Background(), suffixes, write); err != nil || names(t, dir) != "base.0 base.index" {
		t.Fatal(err, names(t, dir))
	}
	os.Remove(base.Path + ".0")
	if err := base.Files(context.Background(), suffixes, write); err == nil || names(t, dir) != "base.index" {
		t.Errorf("where one of several files exists: %v, %s", err, names(t, dir))
	}
	base.Force = true
	if err := base.Files(context.Background(), suffixes, func([]*os.File) error { return errTest }); !errors.Is(err, errTest) || names(t, dir) != "base.index" {
		t.Errorf("what failed has left %v %s", err, names(t, dir))
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	to := Target{Path: filepath.Join(dir, "day")}
	ctx := context.Background()
	write := func(text string) func(string) error {
		return func(at string) error {
			return errors.Join(os.WriteFile(filepath.Join(at, text), nil, 0o666), os.WriteFile(filepath.Join(at, Made), nil, 0o666))
		}
	}
	if err := to.Dir(ctx, write("one")); err != nil || names(t, to.Path) != Made+" one" {
		t.Fatal(err)
	}
	if err := to.Dir(ctx, write("two")); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Error(err)
	}
	to.Force = true
	ended, end := context.WithCancel(ctx)
	end()
	if err := to.Dir(ended, write("two")); !errors.Is(err, context.Canceled) || names(t, to.Path) != Made+" one" || names(t, dir) != "day" {
		t.Errorf("what was ended has left %v: %s", err, names(t, dir))
	}
	if err := to.Dir(ctx, write("two")); err != nil || names(t, to.Path) != Made+" two" || names(t, dir) != "day" {
		t.Errorf("--force leaves %v: %s", err, names(t, to.Path))
	}
	// What no export has made is nobody's to replace.
	os.Remove(filepath.Join(to.Path, Made))
	if err := to.Dir(ctx, write("three")); err == nil || names(t, to.Path) != "two" {
		t.Errorf("a directory of somebody else is replaced: %v", err)
	}
}

// What an export that was killed has left the next one removes, and puts back what that was
// about to replace.
func TestKilledExports(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	write := func(at string) error {
		return errors.Join(os.WriteFile(filepath.Join(at, "new"), nil, 0o666), os.WriteFile(filepath.Join(at, Made), nil, 0o666))
	}
	for _, c := range []struct {
		left, want string
		exists     bool
	}{
		{"", "", false},             // while it was made
		{".old", "", true},          // between its two names
		{".old", "a " + Made, true}, // when it had its name
	} {
		to := Target{Path: filepath.Join(dir, "day")}
		left := disk.Scratch(to.Path) + c.left
		if err := errors.Join(os.Mkdir(left, 0o777), write(left)); err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			if err := errors.Join(os.Mkdir(to.Path, 0o777), os.WriteFile(filepath.Join(to.Path, "a"), nil, 0o666), os.WriteFile(filepath.Join(to.Path, Made), nil, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		err := to.Dir(ctx, write)
		if c.exists != (err != nil) {
			t.Errorf("%q: %v", c.left, err)
		}
		if want := cmp.Or(c.want, Made+" new"); names(t, dir) != "day" || names(t, to.Path) != want {
			t.Errorf("%q: there is %s with %s, want %s", c.left, names(t, dir), names(t, to.Path), want)
		}
		if err := os.RemoveAll(to.Path); err != nil {
			t.Fatal(err)
		}
	}
	// Whatever it was to become.
	yesterday := disk.Scratch(filepath.Join(dir, "20261121"))
	file := Target{Path: filepath.Join(dir, "out.csv")}
	for _, left := range []string{file.Path, filepath.Join(dir, "out-20261121.csv")} {
		if err := os.WriteFile(disk.Scratch(left), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old := disk.Scratch(filepath.Join(dir, "day")) + ".old"
	if err := errors.Join(os.Mkdir(yesterday, 0o777), write(yesterday), os.Mkdir(old, 0o777), write(old)); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Stream(ctx, says("whole")); err != nil || names(t, dir) != "day out.csv" || names(t, filepath.Join(dir, "day")) != Made+" new" {
		t.Errorf("%v, there is %s", err, names(t, dir))
	}
}

// What an export is making or replacing another one does not take for what was left.
func TestExportsBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	other := func() {
		t.Helper()
		if _, err := (Target{Path: filepath.Join(dir, "other"), Force: true}).Stream(ctx, says("other")); err != nil {
			t.Error(err)
		}
	}
	to := Target{Path: filepath.Join(dir, "day"), Force: true}
	for _, text := range []string{"one", "two"} {
		err := to.Dir(ctx, func(at string) error {
			other()
			return errors.Join(os.WriteFile(filepath.Join(at, text), nil, 0o666), os.WriteFile(filepath.Join(at, Made), nil, 0o666))
		})
		if err != nil || names(t, to.Path) != Made+" "+text {
			t.Errorf("%v, there is %s", err, names(t, to.Path))
		}
	}
	_, err := Target{Path: filepath.Join(dir, "out.csv")}.Stream(ctx, func(w io.Writer) error { other(); return says("whole")(w) })
	if err != nil || names(t, dir) != "day other out.csv" {
		t.Errorf("%v, there is %s", err, names(t, dir))
	}
}
