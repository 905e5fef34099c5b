package recording

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// somedays records five archives of a day each and returns their paths.
func somedays(t *testing.T) (dir string, archives []string, at metric.Stamp) {
	return somedaysBy(t, create)
}

func somedaysBy(t *testing.T, create func(testing.TB, Options) *Writer) (dir string, archives []string, at metric.Stamp) {
	dir = t.TempDir()
	w := create(t, testOptions(dir))
	for day := range 5 {
		recordTicks(t, w, day*10, day*10+10)
		step(24*time.Hour - 10*time.Second)
		path, err := w.Rotate("daily")
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, path)
	}
	recordTicks(t, w, 50, 51)
	return dir, archives, now()
}

// prune prunes by the limits until a pass removes nothing more, and returns what each pass
// removed.
func prune(t *testing.T, dir string, rule Retention) (passes [][]string, kept string) {
	t.Helper()
	rule.Host = testOptions("").Host
	if rule.BootID == "" {
		rule.BootID = "boot-1"
	}
	for {
		done, err := Prune(dir, rule)
		if err != nil {
			t.Fatal(err)
		}
		kept = done.Kept
		if len(done.Removed) == 0 {
			return passes, kept
		}
		var pass []string
		for _, r := range done.Removed {
			if r.Why == "" || r.Bytes == 0 || r.To.Before(r.From) {
				t.Errorf("removed %+v", r)
			}
			pass = append(pass, r.Path)
		}
		passes = append(passes, pass)
	}
}

func TestPruneByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, archives, at := somedays(t)
		passes, kept := prune(t, dir, Retention{Limits: Limits{KeepFor: 72 * time.Hour}, Now: at})
		if !slices.Equal(slices.Concat(passes...), archives[:2]) || kept != "" {
			t.Fatalf("removed %v, kept: %s", passes, kept)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(51)[20:]) {
			t.Fatalf("left: %v", got)
		}
		// However short the time limit, the last archives stay.
		prune(t, dir, Retention{Limits: Limits{KeepFor: time.Nanosecond}, Now: at})
		if got := numbers(t, dir); !slices.Equal(got, upTo(51)[30:]) {
			t.Fatalf("left: %v", got)
		}
	})
}

func TestPruneBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, archives, at := somedays(t)
		var total int64
		for _, name := range names(t, dir) {
			st, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name != layout.LockName {
				total += st.Size()
			}
		}
		passes, kept := prune(t, dir, Retention{Limits: Limits{KeepSize: total - 1}, Now: at})
		if !slices.Equal(slices.Concat(passes...), archives[:1]) || kept != "" {
			t.Fatalf("removed %v, kept: %s", passes, kept)
		}
		// However small the size limit, the live archive and the last finished one stay, and
		// no pass removes all others.
		passes, kept = prune(t, dir, Retention{Limits: Limits{KeepSize: 1}, Now: at})
		if !slices.Equal(slices.Concat(passes...), archives[1:4]) || len(passes) != 3 || !strings.Contains(kept, "always kept") {
			t.Fatalf("removed %v, kept: %s", passes, kept)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(51)[40:]) {
			t.Fatalf("left: %v", got)
		}
	})
}

// A recordedHost records archives of a day each, over several boots, with a clock that may
// be wrong.
type recordedHost struct {
	t     *testing.T
	dir   string
	opt   Options
	real  int64 // seconds since the first boot
	boot  int64 // time of this boot
	off   time.Duration
	clock proof.Clock
	w     *Writer
	n     int
}

func recordHost(t *testing.T, id, name string) *recordedHost {
	h := &recordedHost{t: t, dir: t.TempDir()}
	h.opt = testOptions(h.dir)
	h.opt.Host.ID, h.opt.Host.Name = id, name
	h.opt.Now = h.clock.Now
	return h
}

func (h *recordedHost) now() metric.Stamp {
	up := (h.real - h.boot) * 1e9
	return metric.Stamp{Wall: 1_790_000_000e9 + h.real*1e9 + int64(h.off), Awake: up, Cont: up}
}

// reboot begins another boot some time later, with a clock that is wrong by off.
func (h *recordedHost) reboot(id string, after, off time.Duration) {
	h.t.Helper()
	if h.w != nil {
		if err := h.w.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	h.real += int64(after / time.Second)
	h.boot, h.off, h.opt.BootID = h.real, off, id
	h.clock.Set(h.now())
	h.w = create(h.t, h.opt)
}

func (h *recordedHost) record(hours int) {
	h.t.Helper()
	for range hours {
		for range 4 {
			h.real += 900
			h.clock.Set(h.now())
			if err := h.w.Append(testTick(h.now(), h.n)); err != nil {
				h.t.Fatal(err)
			}
			h.n++
		}
	}
}

func (h *recordedHost) days(n int) {
	h.t.Helper()
	for range n {
		h.record(24)
		if _, err := h.w.Rotate("daily"); err != nil {
			h.t.Fatal(err)
		}
	}
}

// prune makes one pass by age and returns how many archives it removed.
func (h *recordedHost) prune(keep time.Duration) (int, string) {
	h.t.Helper()
	done, err := h.w.Prune(Limits{KeepFor: keep}, h.now())
	if err != nil {
		h.t.Fatal(err)
	}
	return len(done.Removed), done.Kept
}

func TestPruneByAWrongClock(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name  string
		off   time.Duration
		doubt bool
	}{
		{"right", 0, false},
		{"four days ahead", 4 * day, false}, // within what is believed at once
		{"months ahead", 120 * day, true},
		{"years ahead", 4000 * day, true},
		{"months behind", -120 * day, false},
		{"1970", -time.Duration(1_790_000_000e9), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !proof.Long() && c.name != "years ahead" && c.name != "1970" {
				t.Skip("the clocks that are wrongest tell most of it; the others are asked with TACHO_LONG")
			}
			t.Parallel()
			h := recordHost(t, "host-1", "mac")
			h.reboot("a", 0, 0)
			h.days(10)
			h.reboot("b", time.Hour, c.off)
			if n, kept := h.prune(30 * day); n != 0 || (kept != "") != c.doubt {
				t.Fatalf("at the start %d archives were removed, kept: %q", n, kept)
			}
			// A day later, after a rotation and another boot, the clock is still wrong.
			h.days(1)
			h.reboot("c", time.Minute, c.off)
			if n, kept := h.prune(30 * day); n != 0 || (kept != "") != c.doubt {
				t.Fatalf("a day later %d archives were removed, kept: %q", n, kept)
			}
			// With the right clock again, archives recorded under the wrong one do not count
			// as old.
			h.reboot("d", time.Minute, 0)
			h.days(4)
			if n, kept := h.prune(30 * day); n != 0 {
				t.Fatalf("with the right clock %d archives were removed, kept: %q", n, kept)
			}
			if got := len(names(t, h.dir)); got < 15 {
				t.Fatalf("%d archives are left: %v", got, names(t, h.dir))
			}
		})
	}
}

// The clock may also be set while recording.
func TestPruneAfterTheClockIsSet(t *testing.T) {
	proof.Unraced(t)
	const day = 24 * time.Hour
	h := recordHost(t, "host-1", "mac")
	h.reboot("a", 0, 0)
	h.days(10)
	h.off = 365 * day
	if n, kept := h.prune(30 * day); n != 0 || kept == "" {
		t.Fatalf("%d archives were removed, kept: %q", n, kept)
	}
	h.days(1)
	if n, kept := h.prune(30 * day); n != 0 || kept == "" {
		t.Fatalf("%d archives were removed, kept: %q", n, kept)
	}
	// A machine that was really off for a year loses its old archives in the end, but never
	// all at once.
	h.days(2)
	if n, kept := h.prune(30 * day); n != 3 || kept == "" {
		t.Fatalf("%d archives were removed, kept: %q", n, kept)
	}
}

// If the archives are too large, those recorded first are removed first, whatever the clock
// said.
func TestPruneBySizeUnderAWrongClock(t *testing.T) {
	proof.Unraced(t)
	const day = 24 * time.Hour
	for name, off := range map[string]time.Duration{"months ahead": 120 * day, "months behind": -120 * day, "1970": -time.Duration(1_790_000_000e9)} {
		t.Run(name, func(t *testing.T) {
			h := recordHost(t, "host-1", "mac")
			h.reboot("a", 0, 0)
			h.days(proof.Pick(t, 3, 6))
			h.reboot("b", time.Minute, off)
			h.days(proof.Pick(t, 2, 3))
			h.reboot("c", time.Minute, 0)
			h.record(1)
			for {
				done, err := h.w.Prune(Limits{KeepSize: 1}, h.now())
				if err != nil {
					t.Fatal(err)
				}
				if len(done.Removed) == 0 {
					break
				}
			}
			r, err := store.Open(h.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var boots []string
			for _, a := range r.Archives() {
				boots = append(boots, a.BootID)
			}
			slices.Sort(boots)
			if !slices.Equal(boots, []string{"b", "c"}) {
				t.Fatalf("left are archives of the boots %v", boots)
			}
		})
	}
}

func TestPruneLeavesOtherHostsAlone(t *testing.T) {
	proof.Unraced(t)
	mine, other := recordHost(t, "host-1", "mac"), recordHost(t, "host-2", "mac")
	for _, h := range []*recordedHost{other, mine} {
		h.reboot("a", 0, 0)
		h.days(8)
	}
	for _, name := range names(t, other.dir) {
		if _, _, ok := layout.ParseFinishedName(name); !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(other.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		name = strings.Replace(name, "mac", "other", 1)
		if err := os.WriteFile(filepath.Join(mine.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if _, err := mine.w.Prune(Limits{KeepFor: time.Hour, KeepSize: 1}, mine.now()); err != nil {
			t.Fatal(err)
		}
	}
	left := map[string]int{}
	for _, name := range names(t, mine.dir) {
		if strings.HasSuffix(name, layout.FinishedSuffix) {
			left[name[:strings.Index(name, "-")]]++
		}
	}
	if left["mac"] != 1 || left["other"] != 8 {
		t.Fatalf("left: %v", left)
	}
}

func TestPruneLeavesForeignFilesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, archives, at := somedaysBy(t, createUnchecked)
		archive, err := os.ReadFile(archives[0])
		if err != nil {
			t.Fatal(err)
		}
		foreign := map[string][]byte{
			"notes.txt":  []byte("hello"),
			"mine.tacho": archive, // a copy that somebody made, with a name that is not ours
			"x--y.tacho": archive,
			"mac-20260101T000000Z--20260102T000000Z.tacho":     []byte("not an archive at all"),
			"mac-20260101T000000Z--20260102T000000Z.tacho.bak": archive,
			"mac-20260101T000000Z.tacho":                       archive,
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
		link := filepath.Join(dir, "mac-20260201T000000Z--20260202T000000Z.tacho")
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
		// An archive that was damaged after it was finished is still ours.
		damaged := filepath.Join(dir, "mac-20260301T000000Z--20260302T000000Z.tacho")
		broken := slices.Clone(archive)
		clear(broken[:100])
		clear(broken[2*disk.PageSize:])
		if err := os.WriteFile(damaged, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		passes, kept := prune(t, dir, Retention{Limits: Limits{KeepFor: time.Nanosecond}, Now: at})
		if !slices.Equal(slices.Concat(passes...), append([]string{damaged}, archives[:3]...)) {
			t.Fatalf("removed %v, kept: %s", passes, kept)
		}
		for name := range foreign {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Lstat(link); err != nil {
			t.Error(err)
		}
	})
}

func TestFinishedNames(t *testing.T) {
	for _, host := range []string{"mac.example.com", "Grandma's iMac", "", "a-b", "ümläut"} {
		for n := range 3 {
			name := layout.FinishedName(host, 1_790_000_000e9, 1_790_086_400e9, n)
			from, to, ok := layout.ParseFinishedName(name)
			if !ok || from.Unix() != 1_790_000_000 || to.Unix() != 1_790_086_400 {
				t.Errorf("%s: %v %v %v", name, from, to, ok)
			}
			live := layout.LiveName(host, 1_790_000_000e9, n)
			if l, g, ok := layout.ParseJournalName(filepath.Base(layout.JournalName(live, 1234567))); !ok || l != live || g != 1234567 {
				t.Errorf("%s: %v %v %v", live, l, g, ok)
			}
		}
	}
	for _, name := range []string{"", ".tacho", "--.tacho", "a-20260101T000000Z--.tacho", "a b-20260101T000000Z--20260102T000000Z.tacho", "a-20260101T000000Z--20260102T000000Z_x.tacho", "a-20260101T000000Z--20260102T000000Z.live"} {
		if _, _, ok := layout.ParseFinishedName(name); ok {
			t.Errorf("%q passes for a finished archive", name)
		}
	}
}
