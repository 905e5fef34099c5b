package listen

import "testing"

// One client has a share of the seats, users and addresses alike, and the last are root's.
func TestSeats(t *testing.T) {
	user := func(name string, uid int) *Who { return &Who{Name: name, Peer: &Peer{UID: uid}} }
	owner := user("owner", 3)
	owner.Owner = true
	s := NewSeats(16)
	var leave []func()
	fill := func(w *Who) (n int) {
		for {
			l, ok := s.Take(w)
			if !ok {
				return n
			}
			leave = append(leave, l)
			n++
		}
	}
	for _, c := range []struct {
		who  *Who
		want int
	}{{user("a", 1), 8}, {&Who{Name: "192.0.2.1"}, 4}, {user("b", 2), 0}, {owner, 0}, {user("root", 0), 4}} {
		if n := fill(c.who); n != c.want {
			t.Errorf("%s has %d of 16, want %d", c.who.Name, n, c.want)
		}
	}
	for _, l := range leave {
		l()
		l()
	}
	if n := fill(owner); n != 12 {
		t.Errorf("who runs the server has %d of 16", n)
	}
	one := NewSeats(1)
	if _, ok := one.Take(user("a", 1)); !ok {
		t.Error("of one nobody has any")
	}
}
