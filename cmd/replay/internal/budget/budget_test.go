package budget

import (
	"context"
	"testing"

	"connectrpc.com/connect"
)

func TestBudget(t *testing.T) {
	b := New(100)
	ctx, first := b.Open(context.Background())
	other, second := b.Open(context.Background())
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
	second.Close()
	if b.Free() != 100 || Take(context.Background(), 1<<40) != nil {
		t.Errorf("%d are free", b.Free())
	}
}
