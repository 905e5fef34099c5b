package live

import (
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// refusal is how a subscription from a position is refused.
func refusal(t *testing.T, r *rig, position string) *connect.Error {
	t.Helper()
	svc, hangUp := r.dial()
	defer hangUp()
	req := everything()
	req.Position = position
	stream, err := svc.Subscribe(t.Context(), connect.NewRequest(req))
	if err == nil {
		if stream.Receive() {
			t.Fatal("it is answered")
		}
		err = stream.Err()
		stream.Close()
	}
	if connect.CodeOf(err) == connect.CodeUnknown {
		t.Fatal(err)
	}
	return err.(*connect.Error)
}

// Who comes back when retention has removed what it missed is told the oldest
// position that there is, and gets what is there from that one on.
func TestRemovedPositions(t *testing.T) {
	r := newMachineRig(t, 21)
	tl := r.tail(everything())
	r.play(5)
	tl.wait(t, r.rig)
	left := tl.end(t).position
	r.rotate()
	second := r.n
	r.play(5)
	finished, err := filepath.Glob(filepath.Join(r.dir, "*.tacho"))
	if err != nil || len(finished) != 1 {
		t.Fatal(finished, err)
	}
	if err := os.Remove(finished[0]); err != nil {
		t.Fatal(err)
	}
	e := refusal(t, r.rig, left)
	if e.Code() != connect.CodeOutOfRange {
		t.Fatal(e)
	}
	oldest := ""
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if info, ok := v.(*errdetails.ErrorInfo); ok && info.Reason == "OLDEST_POSITION" {
				oldest = info.Metadata["position"]
			}
		}
	}
	req := everything()
	req.Position = oldest
	tl = r.tail(req)
	tl.wait(t, r.rig)
	got := tl.end(t)
	if begin := r.m.At(second).Wall; oldest == "" || got.first > begin+1e9 {
		t.Errorf("from the oldest position, %q, the first frame is of %d, not %d", oldest, got.first, begin)
	}
	got.compare(t, r.recorded(), 1)
	r.stop()
	settled(t)
}

// A position of another host, whose archives lie beside, is none to go on from.
func TestPositionsOfAnotherHost(t *testing.T) {
	list := proof.Items(3, 40)
	clock := proof.NewClock(list[0].At())
	opt := recorded.ProofOptions(t.TempDir(), 3, clock.Now)
	opt.Host.ID, opt.Host.Name = "1111-other", "other"
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list {
		clock.Set(it.At())
		if err := it.Append(w); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Rotate("to have one"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(opt.Dir, "*.tacho"))
	f, err := follow.Open(follow.Options{}, files[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := follow.Position{Archive: f.Position().Archive}
	f.Close()

	r := newMachineRig(t, 22)
	r.play(2)
	b, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, filepath.Base(files[0])), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.rotate() // so that what is followed has been begun last
	r.play(2)
	first := r.tail(everything())
	first.wait(t, r.rig)
	first.end(t)
	if e := refusal(t, r.rig, foreign.String()); e.Code() != connect.CodeFailedPrecondition {
		t.Error(e)
	}
	r.stop()
	settled(t)
}
