package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
)

func TestBudget(t *testing.T) {
	b := New(100)
	first, second := b.Open(Client{}), b.Open(Client{})
	ctx, other := first.In(context.Background()), second.In(context.Background())
	if err := Take(ctx, 60); err != nil {
		t.Fatal(err)
	}
	if err := Take(other, 60); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("more than there is: %v", err)
	}
	if err := Take(other, 40); err != nil {
		t.Error(err)
	}
	first.Close()
	first.Close()
	if b.Free() != 60 {
		t.Errorf("%d are free", b.Free())
	}
	if first.Take(1) == nil {
		t.Error("something is taken by a request that has ended")
	}
	second.Close()
	if b.Free() != 100 || Take(context.Background(), 1<<40) != nil {
		t.Errorf("%d are free", b.Free())
	}
}

// All requests of a client have one share, and leave something to who has to be answered.
func TestShares(t *testing.T) {
	b := New(100)
	ask := func(name string, share, leave float64) *Account {
		return b.Open(Client{Name: name, Share: share, Leave: leave})
	}
	if ask("ann", 0.5, 0.1).Take(30) != nil || ask("ann", 0.5, 0.1).Take(30) == nil {
		t.Error("two requests of one client have not one share")
	}
	last := ask("bob", 0.5, 0.1)
	if last.Take(50) != nil || ask("cy", 0.5, 0.1).Take(11) == nil || ask("cy", 0.5, 0.1).Take(10) != nil {
		t.Error("what is to be left is not what is left")
	}
	if ask("root", 0, 0).Take(10) != nil || b.Free() != 0 {
		t.Errorf("%d are free when the last were taken", b.Free())
	}
	last.Close()
	if len(b.by) != 3 {
		t.Errorf("clients who have taken something: %v", b.by)
	}
}

// What is to be sent in a stream waits until there is room, unless there never will be.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		held := b.Open(Client{})
		a := b.Open(Client{})
		if err := held.Take(70); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() { got <- a.Wait(context.Background(), 10) }()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatal("streams leave nothing for questions:", err)
		default:
		}
		held.Give(20)
		if err := <-got; err != nil || b.Free() != 40 {
			t.Errorf("%v, %d are free", err, b.Free())
		}
		if a.Keep(20) == nil || a.Take(20) != nil {
			t.Error("streams leave nothing for questions")
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := a.Wait(ctx, 30); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever has gone: %v", err)
		}
		if err := a.Wait(context.Background(), 90); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("more than there ever is: %v", err)
		}
	})
}
