package push

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/pushstate"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
)

// A reel is a follower of ticks that are there already, and of none that come.
type reel struct {
	items []archive.Item
	pos   follow.Position
}

func (r *reel) Next(ctx context.Context) (archive.Item, error) {
	if len(r.items) == 0 {
		<-ctx.Done()
		return archive.Item{}, ctx.Err()
	}
	it := r.items[0]
	r.items = r.items[1:]
	return it, nil
}
func (r *reel) Position() follow.Position { return r.pos }
func (r *reel) Close() error              { return nil }

// reelFrom are ticks of an archive that come behind a position: one each second.
func reelFrom(id string, ticks int, from follow.Position) *reel {
	info := &archive.Info{ID: id, BootID: "b", Host: metric.Host{ID: "h", Name: "host"}}
	r := &reel{pos: follow.Position{Archive: id}}
	group := &metric.Group{Name: "g", Metrics: []*metric.Desc{{Name: "a.b", Type: metric.U64}}}
	for s := range int64(ticks) {
		at := metric.Stamp{Wall: (1000 + s) * 1e9, Cont: (s + 1) * 1e9}
		if from.Archive == id && at.Cont <= from.Ticks[metric.Fast] {
			continue
		}
		b := &metric.Block{Group: group, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{uint64(s)}}}}
		r.items = append(r.items, archive.Item{Archive: info, Tick: &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}})
	}
	r.items = append(r.items, archive.Item{Archive: info, Present: true})
	return r
}

// A script says what becomes of each attempt; behind its end all is taken.
type script struct {
	answers []error
	tries   []time.Time
	taken   int
}

type scripted struct {
	s      *script
	values int
}

func (s *script) Prepare(context.Context) error { return nil }
func (s *script) NewBatch(BatchID) Batch        { return &scripted{s: s} }
func (b *scripted) Add(*archive.Item) error     { b.values++; return nil }
func (b *scripted) Size() (int, int)            { return b.values, 10 * b.values }
func (b *scripted) Send(context.Context) error {
	b.s.tries = append(b.s.tries, time.Now())
	if len(b.s.answers) > 0 {
		err := b.s.answers[0]
		b.s.answers = b.s.answers[1:]
		return err
	}
	b.s.taken += b.values
	return nil
}

// tried runs an engine over ten ticks in batches of two, with a receiver that answers
// so, and returns what was told.
func tried(t *testing.T, state string, s *script, more func(*Options)) (pushstate.State, []string, error) {
	t.Helper()
	var notes []string
	opt := Options{Target: "http://x/write", Sink: s, State: state, MaxValues: 2, Note: func(text string) { notes = append(notes, text) },
		Open:   func(from follow.Position, _ bool) (Follower, error) { return reelFrom("a1", 10, from), nil },
		Oldest: func(int64) (follow.Position, int64, bool, error) { return follow.Position{Archive: "a1"}, 0, true, nil }}
	if more != nil {
		more(&opt)
	}
	e := New(opt)
	err := e.Run(t.Context())
	return e.State(), notes, err
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		for range 12 {
			s.answers = append(s.answers, &Retry{Err: errors.New("503 Service Unavailable")})
		}
		s.answers = append(s.answers, &Retry{Err: errors.New("429 Too Many Requests"), After: 90 * time.Second})
		st, notes, err := tried(t, filepath.Join(t.TempDir(), "s"), s, nil)
		if err != nil || s.taken != 10 || st.Values != 10 || st.Retries != 13 || st.Failing || st.Refused != 0 {
			t.Errorf("%v: %d taken, %+v", err, s.taken, st)
		}
		if got := s.tries[13].Sub(s.tries[12]); got < 90*time.Second || got > 91*time.Second {
			t.Errorf("it asked to be left alone for 90s, and was for %s", got)
		}
		for i, at := range s.tries[1:13] {
			if gap := at.Sub(s.tries[i]); gap > min(firstPause<<i, longestPause)+time.Millisecond {
				t.Errorf("attempt %d came after %s", i+1, gap)
			}
		}
		if len(notes) != 3 || !strings.Contains(notes[2], "takes what is pushed again, after 13 attempts") {
			t.Errorf("told: %q", notes)
		}
	})
}

// Where somebody has to do something it is tried seldom, and told.
func TestAuthenticationIsTriedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		for range 30 {
			s.answers = append(s.answers, (&Answer{Status: 401}).Err())
		}
		begun := time.Now()
		st, notes, err := tried(t, filepath.Join(t.TempDir(), "s"), s, nil)
		if err != nil || s.taken != 10 || st.Retries != 30 || time.Since(begun) < 20*time.Minute {
			t.Errorf("%v: %d taken in %s: %+v", err, s.taken, time.Since(begun), st)
		}
		if !strings.Contains(notes[0], "does not accept this user") {
			t.Errorf("told: %q", notes)
		}
	})
}

// What is refused is told once for a reason, counted and set aside, or ends it.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(n int) *script {
			s := &script{answers: make([]error, 1)}
			s.answers = nil
			for range n {
				s.answers = append(s.answers, (&Answer{Status: 400, Body: []byte("out of \x1b[31mbounds\nsecond line")}).Err())
			}
			return s
		}
		s := refused(2)
		state := filepath.Join(t.TempDir(), "s")
		st, notes, err := tried(t, state, s, nil)
		if err != nil || s.taken != 6 || st.Values != 6 || st.Refused != 2 || st.RefusedValues != 4 || len(st.Set) != 2 || len(notes) != 1 {
			t.Errorf("%v: %d taken, told %q: %+v", err, s.taken, notes, st)
		}
		if strings.Contains(notes[0], "\x1b") || strings.Contains(notes[0], "second") {
			t.Errorf("told: %q", notes[0])
		}
		if st.Set[0].Since != 1000e9 || st.Set[0].Until != 1001e9 || st.Set[1].Since != 1002e9 {
			t.Errorf("set aside: %+v", st.Set)
		}
		s = refused(1)
		state = filepath.Join(t.TempDir(), "s")
		st, _, err = tried(t, state, s, func(o *Options) { o.StopRefused = true })
		if err == nil || s.taken != 0 || !strings.Contains(err.Error(), "refused what was recorded from") || st.Refused != 0 {
			t.Errorf("%v: %+v", err, st)
		}
		if st, _, err = tried(t, state, &script{}, nil); err != nil || st.Values != 10 {
			t.Errorf("the next run: %v: %+v", err, st)
		}
	})
}

func TestPartialAndFatalAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []error{&Partial{Values: 1, Err: errors.New("one was odd")}}}
		st, _, err := tried(t, filepath.Join(t.TempDir(), "s"), s, nil)
		if err != nil || st.Values != 9 || st.RefusedValues != 1 {
			t.Errorf("%v: %+v", err, st)
		}
		s = &script{answers: []error{&Fatal{errors.New("too old")}}}
		if _, _, err = tried(t, filepath.Join(t.TempDir(), "s"), s, nil); err == nil || len(s.tries) != 1 {
			t.Errorf("%v after %d attempts", err, len(s.tries))
		}
		s = &script{}
		for range 1000 {
			s.answers = append(s.answers, errors.New("connection refused"))
		}
		begun := time.Now()
		_, _, err = tried(t, filepath.Join(t.TempDir(), "s"), s, func(o *Options) { o.GiveUp = 5 * time.Minute })
		if err == nil || !strings.Contains(err.Error(), "given up after 5m") || time.Since(begun) > 7*time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

// What was removed from the archive before it was pushed is told, and nothing is
// pushed twice of what comes next.
func TestWhatIsGoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "s")
		if _, _, err := tried(t, state, &script{}, nil); err != nil {
			t.Fatal(err)
		}
		s := &script{}
		st, notes, err := tried(t, state, s, func(o *Options) {
			o.Open = func(from follow.Position, _ bool) (Follower, error) {
				if from.Archive != "b2" {
					return nil, fmt.Errorf("x: %w", follow.ErrGone)
				}
				return reelFrom("b2", 15, from), nil
			}
			o.Oldest = func(after int64) (follow.Position, int64, bool, error) {
				return follow.Position{Archive: "b2"}, after + 60e9, true, nil
			}
		})
		if err != nil || st.Lost != 1 || s.taken != 5 || len(notes) != 1 || !strings.Contains(notes[0], "was removed before it was pushed") {
			t.Errorf("%v: %d taken, told %q: %+v", err, s.taken, notes, st)
		}
	})
}

// One push at a time keeps a state, and that of another target is not taken.
func TestStateIsOnes(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	unlock, err := pushstate.Lock(state)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tried(t, state, &script{}, nil); err == nil || !strings.Contains(err.Error(), "another replay push keeps") {
		t.Errorf("two at a time: %v", err)
	}
	unlock()
	if _, _, err := tried(t, state, &script{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tried(t, state, &script{}, func(o *Options) { o.Target = "http://y/write" }); err == nil || !strings.Contains(err.Error(), "is the state of a push to http://x/write") {
		t.Errorf("another target: %v", err)
	}
	if err := os.WriteFile(state, []byte(`{"version":1,"target":"http://x/write","acknowledged":"!"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tried(t, state, &script{}, nil); err == nil || !strings.Contains(err.Error(), "is not a position") {
		t.Errorf("a damaged one: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := file("token", "s3cret\n")
	everybody := func(name string, mode os.FileMode) string {
		path := file(name, "s3cret\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		target string
		access Access
		err    string
	}{
		{"https://h/x?q=1", Access{TokenFile: token}, ""},
		{"http://127.0.0.1:1/x", Access{TokenFile: token}, ""},
		{"http://h/x", Access{}, ""},
		{"http://h/x", Access{TokenFile: token, Insecure: true}, ""},
		{"http://h/x", Access{TokenFile: token}, "unencrypted: use https"},
		{"http://u:p4ss@h/x", Access{}, "has a password in it"},
		{"http://u@h/x", Access{}, "has a user in it"},
		{"x://u:p4ss@h/x", Access{}, "is no address"},
		{"h:1", Access{}, "is no address"},
		{"https://h/x", Access{User: "me"}, "go together"},
		{"https://h/x", Access{User: "me", PasswordFile: token, TokenFile: token}, "choose one"},
		{"https://h/x", Access{CertFile: token}, "go together"},
		{"https://h/x", Access{CAFile: token}, "holds no certificate"},
		{"https://h/x", Access{CAFile: everybody("readable", 0o644)}, "holds no certificate"},
		{"https://h/x", Access{CAFile: everybody("writable", 0o646)}, "every user may write"},
		{"https://h/x", Access{TokenFile: everybody("public", 0o644)}, "every user may read or write"},
		{"https://h/x", Access{TokenFile: file("two", "a\nb\n")}, "should hold one line"},
		{"https://h/x", Access{TokenFile: filepath.Join(dir, "none")}, "no such file"},
		{"https://h/x", Access{HeaderFile: file("headers", "X-Scope-OrgID: me\nnonsense\n")}, "line 2 is no header"},
	} {
		p, err := NewEndpoint(c.target, c.access)
		switch {
		case c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s %+v: %v, want %s", c.target, c.access, err, c.err)
		case err != nil && strings.Contains(err.Error(), "p4ss"):
			t.Errorf("the secret is told: %v", err)
		case err == nil && strings.ContainsAny(p.String(), "?@"):
			t.Errorf("%s is told as %s", c.target, p)
		}
	}
}
