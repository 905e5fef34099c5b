package recording

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/gather"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/storetest/proof"
)

// lateRecorder records a tick each second. The number of a tick is its time in tenths of a
// second since base, the time of number 0.
type lateRecorder struct {
	w    *Writer
	base metric.Stamp // time of number 0
	last int          // the last number
	want []int
}

func (r *lateRecorder) at(n int) metric.Stamp {
	d := int64(n) * int64(time.Second) / 10
	return metric.Stamp{Wall: r.base.Wall + d, Awake: r.base.Awake + d, Cont: r.base.Cont + d}
}

// seconds records a tick in each of n seconds.
func (r *lateRecorder) seconds(t *testing.T, n int) {
	t.Helper()
	for range n {
		at := step(time.Second)
		if r.want == nil {
			r.base = at
		}
		r.last = int((at.Cont - r.base.Cont) * 10 / int64(time.Second))
		if err := r.w.Append(testTick(at, r.last)); err != nil {
			t.Fatal(err)
		}
		r.want = append(r.want, r.last)
	}
}

// fire records the tenths of a second between the ticks of the last seconds, and returns how
// many of them came too late.
func (r *lateRecorder) fire(t *testing.T, seconds int) (tooLate int) {
	t.Helper()
	for n := r.last - 10*seconds; n < r.last; n++ {
		if n%10 == 0 {
			continue
		}
		switch err := r.w.Late(testTick(r.at(n), n)); {
		case errors.Is(err, gather.ErrTooLate):
			tooLate++
		case err != nil:
			t.Fatal(err)
		default:
			r.want = append(r.want, n)
		}
	}
	slices.Sort(r.want)
	return tooLate
}

func sameNumbers(t *testing.T, who string, got, want []int) {
	t.Helper()
	for i, n := range want {
		if i >= len(got) || got[i] != n {
			t.Fatalf("%s: %d ticks, want %d, the first other one %v, want %d", who, len(got), len(want), got[min(i, len(got)):min(i+1, len(got))], n)
		}
	}
	if len(got) > len(want) {
		t.Fatalf("%s: %d more ticks than %d: %v", who, len(got)-len(want), len(want), got[len(want):])
	}
}

// Late ticks must have the place that their clock gives them, whatever is encoded before and
// after: in readers beside the recorder, both new ones and one that stays open, in a
// recorder that continues after a kill, in a repaired archive, and in the finished one.
func TestLateTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := &lateRecorder{w: create(t, testOptions(dir))}
		r.seconds(t, 20)
		stays, err := store.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer stays.Close()
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			sameNumbers(t, when+": who reads beside the recorder", numbers(t, dir), r.want)
			if err := stays.Refresh(); err != nil {
				t.Fatal(err)
			}
			sameNumbers(t, when+": who has read all the time", readNumbers(t, stays), r.want)
			if found, err := mend.Verify(dir, nil); err != nil || len(found) > 0 {
				t.Fatalf("%s: verify: %v, %v", when, found, err)
			}
			killed := proof.Killed(t, dir)
			sameNumbers(t, when+": a kill", numbers(t, killed), r.want)
			lives, _ := filepath.Glob(filepath.Join(killed, "*"+layout.LiveSuffix))
			out := filepath.Join(t.TempDir(), "r.tacho")
			if rep, err := mend.Repair(lives[len(lives)-1], out, nil); err != nil || len(rep.Lost) > 0 {
				t.Fatalf("%s: repair: %+v, %v", when, rep, err)
			}
			w := create(t, testOptions(killed))
			if err := w.Late(testTick(r.at(r.last-5), 0)); !errors.Is(err, gather.ErrTooLate) {
				t.Errorf("%s: a tick of before the start: %v", when, err)
			}
			recordTicks(t, w, r.last+10, r.last+11)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			sameNumbers(t, when+": a recorder that took over", numbers(t, killed), append(slices.Clone(r.want), r.last+10))
			if done, _ := filepath.Glob(filepath.Join(killed, "*"+layout.FinishedSuffix)); len(done) == 0 {
				sameNumbers(t, when+": repair", numbers(t, out), r.want)
			}
		}
		if n := r.fire(t, 10); n > 0 {
			t.Errorf("%d come too late", n)
		}
		check("at once")
		r.seconds(t, 30)
		check("later")
		if n := r.fire(t, 10); n > 0 {
			t.Errorf("%d come too late", n)
		}
		r.seconds(t, 900)
		check("when a part is encoded")
		if len(r.w.cur.parts) == 0 {
			t.Error("there is no part")
		}
		for len(r.w.cur.parts) == 1 {
			r.seconds(t, 1)
		}
		r.seconds(t, 3)
		if n := r.fire(t, 10); n == 0 || n > 70 {
			t.Errorf("%d come too late, of ten seconds in the middle of which a part was encoded", n)
		}
		check("across two parts")
		r.seconds(t, 3600)
		check("when all that is committed")
		_, err = r.w.Rotate("test")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.w.Late(testTick(r.at(r.last-5), r.last-5)); !errors.Is(err, gather.ErrTooLate) {
			t.Errorf("a tick of the archive before: %v", err)
		}
		r.seconds(t, 3)
		check("when it is finished")
	})
}
