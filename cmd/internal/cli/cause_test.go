package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCause(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	_, opened := os.Open(gone)
	other := errors.New("something else")
	for _, c := range []struct{ err, want error }{
		{opened, syscall.ENOENT},
		{os.Rename(gone, gone+"2"), syscall.ENOENT},
		{fmt.Errorf("wrapped: %w", opened), syscall.ENOENT},
		{other, other},
		{nil, nil},
	} {
		if got := Cause(c.err); got != c.want {
			t.Errorf("of %v it is %v, want %v", c.err, got, c.want)
		}
	}
}
