package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/store/fault"
)

// TestWhoseFaultItIs has errors that clients of the server get.
func TestWhoseFaultItIs(t *testing.T) {
	for _, c := range []struct {
		err  error
		want scope.Kind
	}{
		{errors.New("--number -1: write how many, or 0 for all"), scope.Mistake},
		{&scope.Error{Kind: scope.Nothing, Err: errors.New("no process sh")}, scope.Nothing},
		{fmt.Errorf("%w: index out of range", errFailed), scope.Broken},
		{fault.Failed{Cause: "index out of range"}, scope.Broken},
		{&fault.Error{Path: "a.tacho", Kind: fault.Damaged, Err: errors.New("page 3")}, scope.Unreadable},
		{&fault.Error{Path: "a.tacho", Err: errors.New("it is short")}, scope.Unreadable},
		{&fs.PathError{Op: "open", Path: "a.tacho", Err: fs.ErrPermission}, scope.Unreadable},
		{fmt.Errorf("reading: %w", syscall.EIO), scope.Unreadable},
		{fmt.Errorf("a scratch file: %w", syscall.ENOSPC), scope.Unreadable},
	} {
		got := scope.Mistake // as the server takes an error that says nothing
		if kind := (*scope.Error)(nil); errors.As(blamed(c.err), &kind) {
			got = kind.Kind
		}
		if got != c.want {
			t.Errorf("%v: kind %d, want %d", c.err, got, c.want)
		}
	}
	if blamed(nil) != nil {
		t.Error("no error became one")
	}
}
