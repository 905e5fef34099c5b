package systemd

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/systemd/journaldtest"
)

// reading follows the journal of a real journald.
type reading struct {
	*journaldtest.Daemon
	dir     *Directory
	entries []Entry
}

func follow(t *testing.T, d *journaldtest.Daemon) *reading {
	r := &reading{Daemon: d, dir: NewDirectory(d.Root, Mark{}, noLimits)}
	t.Cleanup(r.dir.Close)
	return r
}

// look reads what is new, and returns how many entries that are.
func (r *reading) look(t *testing.T) int {
	t.Helper()
	before := len(r.entries)
	for {
		got, err := r.dir.Look(func(e Entry) { r.entries = append(r.entries, e) })
		if err != nil || got.Damaged > 0 || len(got.Withheld) > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if !got.More {
			return len(r.entries) - before
		}
	}
}

// shown is what journalctl shows of a journal on disk, as entries are made of it.
func (r *reading) shown(t *testing.T, journal string) (entries []Entry) {
	t.Helper()
	out, err := exec.Command("journalctl", "--file", filepath.Join(r.Folder(), journal+"[.@]*"), "-o", "export", "--all", "--quiet", "--no-pager").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range parseExport(t, out) {
		maps.DeleteFunc(e.fields, func(name, _ string) bool { return !wanted[name] })
		entries = append(entries, newEntry(journal, e.stamp, e.fields))
	}
	return entries
}

// compare wants every entry that journalctl shows of the journals to have been read once, in its
// order, and no others.
func (r *reading) compare(t *testing.T) {
	t.Helper()
	journals := make(map[string][]Entry)
	for _, e := range r.entries {
		journals[e.Journal] = append(journals[e.Journal], e)
	}
	if got, want := slices.Sorted(maps.Keys(journals)), []string{"system", "user-1000", "user-1001", "user-1002"}; !slices.Equal(got, want) {
		t.Errorf("journals %q, want %q", got, want)
	}
	for journal, mine := range journals {
		theirs := r.shown(t, journal)
		if len(mine) != len(theirs) {
			t.Errorf("%s: %d entries, journalctl shows %d", journal, len(mine), len(theirs))
		}
		for i := range min(len(mine), len(theirs)) {
			// Not every journalctl shows numbers, and a flush changes them.
			mine[i].Seq, theirs[i].Seq = 0, 0
			if !reflect.DeepEqual(mine[i], theirs[i]) {
				t.Fatalf("%s, entry %d:\n%+v\njournalctl shows\n%+v", journal, i, mine[i], theirs[i])
			}
		}
	}
}

// chatter sends entry number n of those that a busy machine has: by every way, from several users,
// short and long, with and without what is believed.
func chatter(t *testing.T, d *journaldtest.Daemon, n int) {
	t.Helper()
	me := journaldtest.Me()
	number := "MESSAGE=" + strconv.Itoa(n)
	switch n % 9 {
	case 0:
		d.Syslog(t, me, fmt.Sprintf("<%d>worker[%d]: line %d", n%192, me.PID, n))
	case 1:
		d.Send(t, journaldtest.Sender{PID: 1}, number, "MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c", "UNIT=a.service", "UNIT_RESULT=exit-code", "PRIORITY=4")
	case 2:
		d.Send(t, journaldtest.Sender{PID: me.PID, UID: 1000}, number, "MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c", "UNIT=b.service", "_UID=0")
	case 3:
		d.Send(t, me, number+strings.Repeat(" a field that is long enough to be compressed", 40), "PRIORITY=6")
	case 4:
		d.Send(t, me, number+"\nof two lines \x1b[1m\x00\xff", "PRIORITY=2", "SYSLOG_IDENTIFIER=two words")
	case 5:
		d.Send(t, journaldtest.Sender{PID: me.PID, UID: 1001 + int32(n/9%2)}, number, "PRIORITY="+strconv.Itoa(n%10))
	case 6:
		d.Send(t, me, number, number+" again", "EMPTY=", "COREDUMP_ENVIRON="+strings.Repeat("SECRET=hunter2\n", n%3000))
	case 7:
		d.Send(t, me, number+strings.Repeat(fmt.Sprintf(" %d is not to be compressed well", n*7919), 300), "PRIORITY=3")
	case 8:
		d.Send(t, me, "MESSAGE=the same", "PRIORITY=6", "SYSLOG_IDENTIFIER=worker")
	}
}

// TestJournald follows a real journald through what happens to its files, in every format that it
// writes, and compares with journalctl. Before 254 journald compresses with zstd whatever it is asked.
func TestJournald(t *testing.T) {
	for _, env := range []string{"", "SYSTEMD_JOURNAL_COMPACT=0 SYSTEMD_JOURNAL_COMPRESS=XZ", "SYSTEMD_JOURNAL_KEYED_HASH=0 SYSTEMD_JOURNAL_COMPRESS=LZ4"} {
		t.Run("with "+env, func(t *testing.T) {
			r := follow(t, journaldtest.Start(t, strings.Fields(env)...))
			n := 0
			send := func(times int) {
				for range times {
					chatter(t, r.Daemon, n)
					n++
				}
			}
			// In memory, and from there to the disk. journald adds lines of its own.
			send(50)
			r.Sync(t)
			if got := r.look(t); got < 50 {
				t.Fatalf("%d entries of the first 50", got)
			}
			r.Flush(t)
			send(50)
			r.Sync(t)
			if got := r.look(t); got < 50 || got > 60 {
				t.Fatalf("%d entries after a flush, want 50 and some of journald", got)
			}
			r.compare(t)
			for round := range 24 {
				send(19)
				switch {
				case round%8 == 7: // the files are not closed, and get another name
					r.Sync(t)
					r.Kill()
					if round%16 == 7 {
						r.look(t)
					}
					r.Again(t)
					r.Flush(t)
				case round%2 == 1:
					r.Rotate(t)
				}
				if round%3 != 0 { // while journald writes
					r.look(t)
				}
			}
			r.Sync(t)
			r.look(t)
			r.compare(t)
			if r.look(t) != 0 {
				t.Error("there is more")
			}
			if content := string(readFile(t, filepath.Join(r.Folder(), "system.journal"))); strings.Contains(env, "COMPACT=0") == (content[12]&isCompact != 0) || strings.Contains(env, "KEYED_HASH=0") == (content[12]&isKeyed != 0) {
				t.Errorf("journald does not write as it is asked to: flags %d", content[12])
			}
			// What is not read for a while, and read anew.
			again := follow(t, r.Daemon)
			again.look(t)
			again.compare(t)
		})
	}
}

// TestJournaldRemovesFiles has journald's files removed that are being read, and others that are
// not yet.
func TestJournaldRemovesFiles(t *testing.T) {
	r := follow(t, journaldtest.Start(t))
	r.Flush(t)
	me := journaldtest.Me()
	const files, each = 5, 1000
	for i := range files {
		for n := range each {
			r.Send(t, me, fmt.Sprintf("MESSAGE=%d", i*each+n+1), "SYSLOG_IDENTIFIER=test")
		}
		r.Rotate(t)
	}
	r.Send(t, me, fmt.Sprintf("MESSAGE=%d", files*each+1), "SYSLOG_IDENTIFIER=test")
	r.Sync(t)
	var numbers []uint64
	take := func(e Entry) {
		if e.Identifier == "test" {
			numbers = append(numbers, numberOf(e))
		}
	}
	got, err := r.dir.Look(take)
	if err != nil || !got.More {
		t.Fatalf("%+v, %v: one look takes everything", got, err)
	}
	if out, err := exec.Command("journalctl", "--directory", r.Folder(), "--vacuum-files=1").CombinedOutput(); err != nil || bytes.Count(out, []byte("Deleted")) < files-1 {
		t.Fatalf("%v: %s", err, out)
	}
	for got.More {
		if got, err = r.dir.Look(take); err != nil || len(got.Withheld) > 0 || got.Damaged > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		t.Error("entries are not in order, or are there twice")
	}
	if last := numbers[len(numbers)-1]; last != files*each+1 {
		t.Errorf("the last is %d", last)
	}
}

// TestJournaldFindsCutFiles cuts the file of a journald that was killed. What was not read is lost,
// and everything after is read.
func TestJournaldFindsCutFiles(t *testing.T) {
	for _, part := range []int64{0, 100, 5000, 100_000} {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			r := follow(t, journaldtest.Start(t))
			r.Flush(t)
			for n := range 300 {
				chatter(t, r.Daemon, n)
				if n == 200 {
					r.Sync(t)
					r.look(t)
				}
			}
			r.Kill()
			if err := os.Truncate(filepath.Join(r.Folder(), "system.journal"), part); err != nil {
				t.Fatal(err)
			}
			look := func() (numbers []uint64) {
				r.dir.Look(func(e Entry) {
					if e.Identifier == "test" {
						numbers = append(numbers, numberOf(e))
					}
				})
				return numbers
			}
			look() // whatever it says of the damage
			r.Again(t)
			r.Flush(t)
			me := journaldtest.Me()
			for n := range uint64(5) {
				r.Send(t, me, fmt.Sprintf("MESSAGE=%d", n+1), "SYSLOG_IDENTIFIER=test")
				r.Sync(t)
				expect(t, look(), n+1)
			}
		})
	}
}
