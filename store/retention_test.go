package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// somedays records five archives of a day each and returns their paths.
func somedays(t *testing.T) (dir string, archives []string, end time.Time) {
	dir = t.TempDir()
	c := newClock()
	w := create(t, testOptions(dir, c))
	for day := range 5 {
		recordTicks(t, w, c, day*10, day*10+10)
		c.step(24*time.Hour - 10*time.Second)
		path, err := w.Rotate("daily")
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, path)
	}
	recordTicks(t, w, c, 50, 51)
	return dir, archives, c.now().Time()
}

func TestPruneByAge(t *testing.T) {
	dir, archives, end := somedays(t)
	removed, err := Prune(dir, 72*time.Hour, 0, end)
	if err != nil || !slices.Equal(removed, archives[:2]) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if removed, err := Prune(dir, 72*time.Hour, 0, end); err != nil || removed != nil {
		t.Fatalf("removed again %v, %v", removed, err)
	}
	if got := numbers(t, dir); !slices.Equal(got, upTo(51)[20:]) {
		t.Fatalf("left: %v", got)
	}
}

func TestPruneBySize(t *testing.T) {
	dir, archives, end := somedays(t)
	var total int64
	for _, name := range names(t, dir) {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != lockName {
			total += st.Size()
		}
	}
	removed, err := Prune(dir, 0, total-1, end)
	if err != nil || !slices.Equal(removed, archives[:1]) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	// However small the limit, the archive being written stays.
	removed, err = Prune(dir, 0, 1, end)
	if err != nil || !slices.Equal(removed, archives[1:]) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if got := numbers(t, dir); !slices.Equal(got, []int{50}) {
		t.Fatalf("left: %v", got)
	}
}

func TestPruneLeavesForeignFilesAlone(t *testing.T) {
	dir, archives, end := somedays(t)
	archive, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string][]byte{
		"notes.txt":  []byte("hello"),
		"mine.tacho": archive, // somebody's copy, not named by us
		"x--y.tacho": archive,
		"mac-20200101T000000Z--20200102T000000Z.tacho":     []byte("not an archive at all"),
		"mac-20200101T000000Z--20200102T000000Z.tacho.bak": archive,
		"mac-20200101T000000Z.tacho":                       archive,
	}
	for name, data := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(elsewhere, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "mac-20200201T000000Z--20200202T000000Z.tacho")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	// One that was damaged after it was finished is still ours.
	damaged := filepath.Join(dir, "mac-20200301T000000Z--20200302T000000Z.tacho")
	broken := slices.Clone(archive)
	clear(broken[:100])
	clear(broken[2*pageSize:])
	if err := os.WriteFile(damaged, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := Prune(dir, time.Nanosecond, 0, end.Add(time.Hour))
	if err != nil || !slices.Equal(removed, append([]string{damaged}, archives...)) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	for name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
}

func TestFinishedNames(t *testing.T) {
	for _, host := range []string{"mac.example.com", "Grandma's iMac", "", "a-b", "ümläut"} {
		for n := range 3 {
			name := finishedName(host, 1_790_000_000e9, 1_790_086_400e9, n)
			from, to, ok := parseFinishedName(name)
			if !ok || from.Unix() != 1_790_000_000 || to.Unix() != 1_790_086_400 {
				t.Errorf("%s: %v %v %v", name, from, to, ok)
			}
			live := liveName(host, 1_790_000_000e9, n)
			if l, g, ok := parseJournalName(filepath.Base(journalName(live, 1234567))); !ok || l != live || g != 1234567 {
				t.Errorf("%s: %v %v %v", live, l, g, ok)
			}
		}
	}
	for _, name := range []string{"", ".tacho", "--.tacho", "a-20260101T000000Z--.tacho", "a b-20260101T000000Z--20260102T000000Z.tacho", "a-20260101T000000Z--20260102T000000Z_x.tacho", "a-20260101T000000Z--20260102T000000Z.live"} {
		if _, _, ok := parseFinishedName(name); ok {
			t.Errorf("%q passes for a finished archive", name)
		}
	}
}
