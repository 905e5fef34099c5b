package listen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// One client has his share of the turns and of the places of who waits for one; root is
// next, then who had none for longest.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := func(name string, uid int) *Who { return &Who{Name: name, Peer: &Peer{UID: uid}} }
		ann, bob, root := user("ann", 1), user("bob", 2), user("root", 0)
		turns := NewTurns(2, 8)
		got := make(chan string, 20)
		ends := make(map[string]chan struct{})
		ask := func(name string, w *Who) {
			end := make(chan struct{})
			ends[name] = end
			go func() {
				leave, err := turns.Take(t.Context(), w)
				if err != nil {
					name += " is refused"
				}
				got <- name
				if err == nil {
					<-end
					leave()
				}
			}()
			synctest.Wait()
		}
		is := func(want string) {
			t.Helper()
			synctest.Wait()
			select {
			case name := <-got:
				if name != want {
					t.Errorf("%s, want %s", name, want)
				}
			default:
				t.Errorf("nobody, want %s", want)
			}
		}
		ask("ann 1", ann)
		is("ann 1")
		for _, name := range []string{"ann 2", "ann 3", "ann 4", "ann 5"} {
			ask(name, ann)
		}
		ask("ann 6", ann)
		is("ann 6 is refused")
		ask("bob 1", bob)
		is("bob 1")
		ask("bob 2", bob)
		ask("root 1", root)
		close(ends["ann 1"])
		is("root 1")
		close(ends["root 1"])
		is("ann 2")
		close(ends["bob 1"])
		is("bob 2")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		cancel(left)
		if _, err := turns.Take(ctx, bob); err != left {
			t.Error(err)
		}
		for _, name := range []string{"ann 2", "bob 2", "ann 3", "ann 4", "ann 5"} {
			close(ends[name])
		}
		synctest.Wait()
		if turns.running != 0 || len(turns.queue) != 0 || len(turns.by) != 0 || len(turns.last) != 0 {
			t.Errorf("%+v is left", turns)
		}
	})
}
