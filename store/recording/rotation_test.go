package recording

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// promise is what the status said at an operation about the loss that a crash would cause:
// from that operation on, no tick of the first ticks.
type promise struct {
	op    int
	ticks int
}

// The header of an archive has the name and the system that its host had when the archive
// was begun. A name with the ID of another machine is ignored.
func TestHostOfALaterArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := testOptions(t.TempDir())
		host, zone := opt.Host, opt.TimeZone
		opt.Look = func() (metric.Host, string) { return host, zone }
		w := create(t, opt)
		var heads []string
		for n, change := range []func(){
			func() { host.Name, host.Release, zone = "renamed.example.com", "27.0.1", "Asia/Tokyo" },
			func() { host.ID, host.Name = "host-2", "other" },
			func() {},
		} {
			recordTicks(t, w, n, n+1)
			h, err := layout.ReadHeader(w.Status().Path)
			if err != nil {
				t.Fatal(err)
			}
			heads = append(heads, h.Host.Name+" "+h.Host.Release+" "+h.TimeZone)
			change()
			r, err := w.BeginRotation("test")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"mac.example.com  Europe/Berlin", "renamed.example.com 27.0.1 Asia/Tokyo", "mac.example.com  Europe/Berlin"}; !slices.Equal(heads, want) {
			t.Errorf("%q, want %q", heads, want)
		}
	})
}

// Around a rotation, everything accepted is synced on schedule, in whichever file it is.
// What the status promised must survive a crash at each later operation, also if the old
// archive is finished late.
func TestCrashAroundARotation(t *testing.T) {
	proof.Unraced(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		opt := testOptions(dir)
		opt.FS, opt.Seal, opt.Sync = fs, 5*time.Second, time.Second
		w := create(t, opt)
		n := 0
		record := func(ticks int) {
			recordTicks(t, w, n, n+ticks)
			n += ticks
		}
		promises := map[disktest.Mode][]promise{}
		safe := func() {
			step(2 * time.Second)
			if loss := w.Status().PanicLoss; loss != 0 {
				t.Fatalf("a crash would cost %v", loss)
			}
			promises[disktest.Panic] = append(promises[disktest.Panic], promise{fs.Len(), n})
			step(4 * time.Second)
			record(1)
			step(2 * time.Second)
			if loss := w.Status().PowerLoss; loss != 0 {
				t.Fatalf("a power cut would cost %v", loss)
			}
			p := promise{fs.Len(), n}
			promises[disktest.Panic] = append(promises[disktest.Panic], p)
			promises[disktest.PowerCut] = append(promises[disktest.PowerCut], p)
		}
		record(10)
		safe()
		record(3)
		r, err := w.BeginRotation("test")
		if err != nil {
			t.Fatal(err)
		}
		record(2)
		safe()
		record(2)
		safe()
		if _, err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		record(2)
		safe()
		// A rotation that is not finished before the recorder ends, and an end at which the
		// archive refuses everything.
		if _, err := w.BeginRotation("test"); err != nil {
			t.Fatal(err)
		}
		record(3)
		fs.Fail(disktest.Faults("bolt commit: ENOSPC"))
		if err := w.Close(); err == nil {
			t.Fatal("it closed without the commit that was to fail")
		}
		for mode := range promises {
			promises[mode] = append(promises[mode], promise{fs.Len(), n})
		}
		stride := 3
		if proof.Long() {
			stride = 1
		}
		for mode, list := range promises {
			for at := list[0].op; at <= fs.Len(); at += stride {
				least := 0
				for _, p := range list {
					if p.op <= at {
						least = p.ticks
					}
				}
				if err := survives(t, fs, mode, at, least); err != nil {
					t.Fatalf("%s at operation %d of %d (%s), %d ticks were promised: %v", mode, at, fs.Len(), proof.Around(fs.Ops(), at), least, err)
				}
			}
		}
	})
}

func survives(t *testing.T, fs *disktest.FS, mode disktest.Mode, at, least int) error {
	to := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(to, 0o750); err != nil {
		return err
	}
	defer os.RemoveAll(to)
	if err := fs.Crash(to, at, mode, rand.New(rand.NewSource(int64(at)))); err != nil {
		return err
	}
	step(time.Hour)
	opt := testOptions(to)
	opt.BootID = "boot-after"
	w, err := Create(opt)
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if got := numbers(t, to); len(got) < least || !slices.Equal(got[:least], upTo(least)) {
		return fmt.Errorf("left are %v", got)
	}
	return nil
}
