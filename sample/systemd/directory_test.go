package systemd

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const machine = "0123456789abcdef0123456789abcdef"

// journald writes, rotates and removes journals in a directory as journald does.
type journald struct {
	t        testing.TB
	root     string
	flags    uint32
	sequence byte
	files    int
	seq      uint64
	open     map[string]*writer // by "log/system"
}

func newJournald(t testing.TB) *journald {
	t.Helper()
	j := &journald{t: t, root: t.TempDir(), sequence: 1, open: make(map[string]*writer)}
	if err := os.MkdirAll(filepath.Join(j.root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.root, "etc/machine-id"), []byte(machine+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return j
}

// write adds entries to a stream, and returns their numbers.
func (j *journald) write(stream string, times int) (numbers []uint64) {
	j.t.Helper()
	w := j.open[stream]
	if w == nil {
		j.files++
		w = newWriter(j.flags, byte(j.files), j.sequence)
		w.bytes[25] = byte(j.files >> 8)
		j.open[stream] = w
	}
	for range times {
		j.seq++
		w.line(j.t, j.seq)
		numbers = append(numbers, j.seq)
	}
	w.save(j.t, j.file(stream, ".journal"))
	return numbers
}

// file is the path of one of a stream's files. Streams are named as those of a Directory.
func (j *journald) file(stream, rest string) string {
	folder, journal, _ := strings.Cut(stream, "/")
	return filepath.Join(j.root, map[string]string{"log": "var/log/journal", "run": "run/log/journal"}[folder], machine, journal+rest)
}

// rotate renames the file of a stream, and returns its new path.
func (j *journald) rotate(stream string, dirty bool) string {
	j.t.Helper()
	if j.open[stream] == nil {
		return ""
	}
	rest := fmt.Sprintf("@%032x-%016x.journal", j.sequence, j.files*1000+int(j.seq))
	if dirty {
		rest = fmt.Sprintf("@%016x-%016x.journal~", j.files, j.seq)
	}
	to := j.file(stream, rest)
	if err := os.Rename(j.file(stream, ".journal"), to); err != nil {
		j.t.Fatal(err)
	}
	delete(j.open, stream)
	return to
}

// look returns the numbers of the entries of a look.
func look(t testing.TB, d *Directory) (numbers []uint64) {
	t.Helper()
	for {
		got, err := d.Look(func(e Entry) { numbers = append(numbers, numberOf(e)) })
		if err != nil || got.Damaged > 0 || len(got.Withheld) > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if !got.More {
			return numbers
		}
	}
}

func numberOf(e Entry) uint64 {
	n, _ := strconv.ParseUint(e.Message, 10, 64)
	return n
}

func expect(t testing.TB, got []uint64, want ...uint64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

var noLimits = Limits{Last: 1 << 30}

func TestFollowing(t *testing.T) {
	j := newJournald(t)
	j.write("log/system", 3)
	j.write("log/user-1000", 2)
	j.write("log/system", 1)
	d := NewDirectory(j.root, Mark{}, noLimits)
	defer d.Close()
	expect(t, look(t, d), 1, 2, 3, 4, 5, 6)
	expect(t, look(t, d))
	j.write("log/user-1000", 1)
	j.write("log/system", 1)
	expect(t, look(t, d), 7, 8)
	// Before the rotation, after it, of a user who was not there before.
	j.write("log/system", 2)
	old := j.rotate("log/system", false)
	j.write("log/system", 2)
	j.write("log/user-1001", 1)
	expect(t, look(t, d), 9, 10, 11, 12, 13)
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	j.write("log/system", 1)
	j.rotate("log/system", true)
	expect(t, look(t, d), 14)
	j.write("log/system", 1)
	expect(t, look(t, d), 15)
	// Several rotations between two looks.
	for range 5 {
		j.write("log/system", 2)
		j.rotate("log/system", false)
	}
	j.write("log/system", 1)
	expect(t, look(t, d), 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
	// Nobody writes the files of a user who is gone.
	j.write("log/user-1001", 1)
	j.rotate("log/user-1001", false)
	expect(t, look(t, d), 27)
	expect(t, look(t, d))
	for name, s := range d.streams {
		if open := s.file != nil; open != (name != "log/user-1001") {
			t.Errorf("%s is open: %v", name, open)
		}
	}
}

func TestMarks(t *testing.T) {
	j := newJournald(t)
	j.write("log/system", 3)
	j.write("log/user-1000", 1)
	d := NewDirectory(j.root, Mark{}, noLimits)
	look(t, d)
	d.Close()
	text := d.Mark().Text()
	if len(text) > 500 {
		t.Errorf("a mark of %d bytes: %s", len(text), text)
	}
	mark, err := ParseMark(text)
	if err != nil || !reflect.DeepEqual(mark, d.Mark()) {
		t.Fatalf("%+v, %v; want %+v", mark, err, d.Mark())
	}
	if again := NewDirectory(filepath.Join(j.root, "nowhere"), mark, noLimits); !reflect.DeepEqual(again.Mark(), mark) {
		t.Errorf("a mark is lost where nothing can be read: %+v", again.Mark())
	}
	j.write("log/system", 1)
	j.rotate("log/system", false)
	j.write("log/system", 1)
	j.rotate("log/user-1000", true)
	j.write("log/user-1000", 1)
	d = NewDirectory(j.root, mark, noLimits)
	expect(t, look(t, d), 5, 6, 7)
	d.Close()
	// Everything was removed, and journald has begun to count anew.
	if err := os.RemoveAll(filepath.Join(j.root, "var")); err != nil {
		t.Fatal(err)
	}
	mark = d.Mark()
	j.open, j.sequence = make(map[string]*writer), 2
	j.write("log/system", 2)
	d = NewDirectory(j.root, mark, noLimits)
	expect(t, look(t, d), 8, 9)
	d.Close()
	for _, bad := range []string{"", "{", `{"streams":[{"sequence":"1"}]}`, `{"streams":[` + strings.Repeat("{},", maxStreams) + `{}]}`, strings.Repeat(" ", maxMark+1)} {
		if m, err := ParseMark([]byte(bad)); err == nil {
			t.Errorf("%.40s: %+v", bad, m)
		}
	}
}

func TestFirstLook(t *testing.T) {
	j := newJournald(t)
	for range 4 {
		j.write("log/system", 5)
		j.rotate("log/system", false)
	}
	j.write("log/system", 2)
	at := func(n int) time.Time { return time.UnixMicro(start + int64(n)*1e6) }
	begin := func(mark Mark, l Limits) []uint64 {
		d := NewDirectory(j.root, mark, l)
		defer d.Close()
		return look(t, d)
	}
	expect(t, begin(Mark{}, Limits{Last: 1}), 22)
	expect(t, begin(Mark{}, Limits{}), 22)
	expect(t, begin(Mark{}, Limits{Last: 2}), 21, 22)
	expect(t, begin(Mark{}, Limits{Last: 4}), 19, 20, 21, 22)
	expect(t, begin(Mark{}, Limits{Last: 7}), 16, 17, 18, 19, 20, 21, 22)
	expect(t, begin(Mark{}, Limits{Last: 8}), 15, 16, 17, 18, 19, 20, 21, 22)
	expect(t, begin(Mark{}, Limits{Last: 8, Since: at(20)}), 20, 21, 22)
	expect(t, begin(Mark{}, Limits{Last: 8, Since: at(22)}), 22)
	expect(t, begin(Mark{}, Limits{Last: 8, Since: at(23)}))
	expect(t, begin(Mark{}, Limits{Last: 2, Since: at(1)}), 21, 22)
	// A mark that lies before the time, and one behind it.
	old := Mark{Streams: []StreamMark{{Stream: "log/system", Sequence: ID{1}, Seq: 3, Received: start + 3e6}}}
	expect(t, begin(old, Limits{Last: 99, Since: at(18)}), 18, 19, 20, 21, 22)
	expect(t, begin(old, Limits{Last: 99, Since: at(2)}), 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22)
	// What comes afterwards is taken.
	d := NewDirectory(j.root, Mark{}, Limits{Last: 1, Since: at(23)})
	defer d.Close()
	expect(t, look(t, d))
	j.write("log/system", 2)
	expect(t, look(t, d), 23, 24)
}

// TestFlushed moves the journal in memory to the disk, as happens at every start of a machine.
func TestFlushed(t *testing.T) {
	j := newJournald(t)
	j.write("run/system", 4)
	d := NewDirectory(j.root, Mark{}, noLimits)
	expect(t, look(t, d), 1, 2, 3, 4)
	mark := d.Mark()
	// Those that were read have the places of the boot that they had, and one is new.
	w := newWriter(0, 99, 3)
	w.line(t, 1, 2, 3, 4, 5)
	w.save(t, j.file("log/system", ".journal"))
	if err := os.RemoveAll(filepath.Join(j.root, "run")); err != nil {
		t.Fatal(err)
	}
	expect(t, look(t, d), 5)
	d.Close()
	d = NewDirectory(j.root, mark, noLimits)
	expect(t, look(t, d), 5)
	expect(t, look(t, d))
	d.Close()
}

// TestLimitOfWork has more entries than one look takes.
func TestLimitOfWork(t *testing.T) {
	j := newJournald(t)
	j.write("log/system", maxLookEntries)
	j.write("log/user-1000", 100)
	d := NewDirectory(j.root, Mark{}, noLimits)
	defer d.Close()
	var all []uint64
	looks := 0
	for more := true; more; looks++ {
		before := len(all)
		got, err := d.Look(func(e Entry) { all = append(all, numberOf(e)) })
		if err != nil || len(all)-before > maxLookEntries {
			t.Fatal(len(all)-before, err)
		}
		more = got.More
	}
	if looks != 2 || len(all) != maxLookEntries+100 || !slices.IsSorted(all) {
		t.Errorf("%d entries in %d looks", len(all), looks)
	}
}

func TestNoJournal(t *testing.T) {
	root := t.TempDir()
	d := NewDirectory(root, Mark{}, noLimits)
	nothing := func(Entry) { t.Error("an entry") }
	if _, err := d.Look(nothing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a number: %v", err)
	}
	j := newJournald(t)
	d = NewDirectory(j.root, Mark{}, noLimits)
	for range 2 {
		if _, err := d.Look(nothing); !errors.Is(err, ErrNoJournal) {
			t.Errorf("without a directory: %v", err)
		}
	}
	// It comes later, and goes.
	j.write("log/system", 1)
	expect(t, look(t, d), 1)
	if err := os.RemoveAll(filepath.Join(j.root, "var")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Look(nothing); !errors.Is(err, ErrNoJournal) {
		t.Errorf("without a directory again: %v", err)
	}
	for _, text := range []string{"", "uninitialized\n", machine[1:], "../../../../../../../etc/passwd"} {
		if err := os.WriteFile(filepath.Join(j.root, "etc/machine-id"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := NewDirectory(j.root, Mark{}, noLimits).Look(nothing); err == nil {
			t.Errorf("%q is a number", text)
		}
	}
}

// TestWithheld has what is not read, beside a journal that is: links, what is no file, what is no
// journal.
func TestWithheld(t *testing.T) {
	j := newJournald(t)
	j.write("log/system", 1)
	other := filepath.Join(t.TempDir(), "other.journal")
	if err := os.Rename(j.file("log/system", ".journal"), other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, j.file("log/system", ".journal")); err != nil {
		t.Fatal(err)
	}
	d := NewDirectory(j.root, Mark{}, noLimits)
	defer d.Close()
	if got, err := d.Look(func(Entry) { t.Error("a link was followed") }); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%+v, %v", got, err)
	}
	j.write("log/user-1000", 1)
	if err := syscall.Mkfifo(j.file("log/user-1001", ".journal"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"user-1002.journal": "no journal", "user-01.journal": "", "remote.journal": "", "system.journal.tmp": "", "system@1.journal~": ""} {
		if err := os.WriteFile(filepath.Join(j.root, "var/log/journal", machine, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got Looked
	var err error
	var numbers []uint64
	if got, err = d.Look(func(e Entry) { numbers = append(numbers, numberOf(e)) }); err != nil {
		t.Fatal(err)
	}
	expect(t, numbers, 2)
	var names []string
	for _, w := range got.Withheld {
		names = append(names, filepath.Base(w.Path))
	}
	if want := []string{"system.journal", "system@1.journal~", "user-1001.journal", "user-1002.journal"}; !slices.Equal(names, want) {
		t.Errorf("withheld are %q, want %q", names, want)
	}
	// The directory itself is a link.
	real := filepath.Join(j.root, "var/log/journal", machine)
	if err := os.Rename(real, real+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real+"-moved", real); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Look(func(Entry) { t.Error("a link was followed") }); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%v", err)
	}
}

func TestPermissionDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for an ordinary user: root may read everything")
	}
	j := newJournald(t)
	j.write("log/system", 1)
	if err := os.Chmod(j.file("log/system", ".journal"), 0); err != nil {
		t.Fatal(err)
	}
	d := NewDirectory(j.root, Mark{}, noLimits)
	defer d.Close()
	if _, err := d.Look(func(Entry) { t.Error("an entry") }); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	j.write("log/user-1000", 1)
	got, err := d.Look(func(Entry) {})
	if err != nil || len(got.Withheld) != 1 || !errors.Is(got.Withheld[0].Err, fs.ErrPermission) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSettled has directories that changed long ago, which are not listed again until their time
// changes.
func TestSettled(t *testing.T) {
	j := newJournald(t)
	j.write("log/system", 1)
	dir := filepath.Dir(j.file("log/system", ""))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	d := NewDirectory(j.root, Mark{}, noLimits)
	defer d.Close()
	expect(t, look(t, d), 1)
	j.write("log/user-1000", 1)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	j.write("log/system", 1)
	expect(t, look(t, d), 3) // and the user's is not met
	if err := os.Chtimes(dir, old, old.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	expect(t, look(t, d), 2)
}

// TestRandomly writes, rotates, removes and restarts by lot, between looks and in the middle of
// them: every entry is handed over once, those of a stream in their order.
func TestRandomly(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 33))
		j := newJournald(t)
		j.flags = []uint32{0, isCompact}[seed%2]
		streams := []string{"log/system", "log/user-1000", "log/user-1001"}
		var rotated []string
		act := func() {
			stream := streams[r.IntN(len(streams))]
			switch n := r.IntN(10); {
			case n < 6:
				j.write(stream, 1+r.IntN(6))
			case n < 9:
				if path := j.rotate(stream, n == 8); path != "" {
					rotated = append(rotated, path)
				}
			}
		}
		seen := make(map[uint64]int)
		last := make(map[string]uint64)
		d := NewDirectory(j.root, Mark{}, noLimits)
		inside := false
		take := func(e Entry) {
			n := numberOf(e)
			if seen[n]++; seen[n] > 1 || n <= last[e.Journal] {
				t.Fatalf("%d: entry %d of %s again, or after %d", seed, n, e.Journal, last[e.Journal])
			}
			last[e.Journal] = n
			if inside && r.IntN(4) == 0 {
				act()
			}
		}
		j.write("log/system", 1)
		for range 60 {
			act()
			if r.IntN(3) == 0 {
				inside = true
				if _, err := d.Look(take); err != nil {
					t.Fatal(err)
				}
				inside = false
			}
			switch r.IntN(12) {
			case 0:
				mark, err := ParseMark(d.Mark().Text())
				if err != nil {
					t.Fatal(err)
				}
				d.Close()
				d = NewDirectory(j.root, mark, noLimits)
			case 1: // what was read may be removed
				for range 2 {
					if _, err := d.Look(take); err != nil {
						t.Fatal(err)
					}
				}
				for _, path := range rotated {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
				rotated = nil
			}
		}
		for range 2 {
			if _, err := d.Look(take); err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
		for n := uint64(1); n <= j.seq; n++ {
			if seen[n] != 1 {
				t.Fatalf("%d: entry %d was handed over %d times", seed, n, seen[n])
			}
		}
	}
}

// TestHostileFiles turns bits in the files of a directory while it is followed: looks come to an
// end, and so does what they have to say.
func TestHostileFiles(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 34))
		j := newJournald(t)
		var paths []string
		for range 4 {
			j.write("log/system", 6)
			paths = append(paths, j.rotate("log/system", false))
			j.write("log/user-1000", 3)
			paths = append(paths, j.rotate("log/user-1000", true))
		}
		j.write("log/system", 2)
		paths = append(paths, j.file("log/system", ".journal"))
		harm := func() {
			path := paths[r.IntN(len(paths))]
			content := readFile(t, path)
			size := len(content)
			if r.IntN(2) == 0 {
				size = min(size, headerLeast)
			}
			for range min(size, 1+r.IntN(6)) {
				content[r.IntN(size)] ^= 1 << r.IntN(8)
			}
			if err := os.WriteFile(path, content[:len(content)-r.IntN(2)*r.IntN(len(content)+1)], 0o644); err != nil {
				t.Fatal(err)
			}
		}
		harm()
		d := NewDirectory(j.root, Mark{}, Limits{Last: 20})
		for range 20 {
			harm()
			n := 0
			if _, err := d.Look(func(Entry) { n++ }); n > maxLookEntries {
				t.Fatal(n, err)
			}
		}
		d.Close()
		if text := d.Mark().Text(); len(text) > maxMark {
			t.Errorf("a mark of %d bytes", len(text))
		}
	}
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]string{
		"system.journal": "system", "system@0123-45-67.journal": "system done", "system@0123-45.journal~": "system done", "system.journal~": "system done",
		"user-1000.journal": "user-1000", "user-1000@1-2-3.journal": "user-1000 done", "user-01.journal": "", "user-.journal": "", "user-x.journal": "",
		"user-4294967296.journal": "", "remote-a.journal": "", "fss": "", "": "", ".journal": "", "systemd.journal": "",
	} {
		journal, done, ok := parseName(name)
		got := ""
		if ok {
			got = journal
			if done {
				got += " done"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// BenchmarkTail reads the last thousand entries of a journal of 10,000, as a first look does.
func BenchmarkTail(b *testing.B) {
	j := newJournald(b)
	j.write("log/system", 10_000)
	for b.Loop() {
		d := NewDirectory(j.root, Mark{}, Limits{Last: 1000})
		n := len(look(b, d))
		d.Close()
		if n != 1000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkUnchanged looks at a directory of 100 files in which nothing has happened.
func BenchmarkUnchanged(b *testing.B) {
	j := newJournald(b)
	for range 98 {
		j.write("log/system", 2)
		j.rotate("log/system", false)
	}
	j.write("log/system", 2)
	j.write("log/user-1000", 2)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Dir(j.file("log/system", "")), old, old); err != nil {
		b.Fatal(err)
	}
	d := NewDirectory(j.root, Mark{}, Limits{Last: 1})
	defer d.Close()
	look(b, d)
	for b.Loop() {
		look(b, d)
	}
}
