package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestError(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/a.tacho", Err: syscall.EACCES}
	for _, c := range []struct {
		name string
		err  error
		text string
		kind Kind
	}{
		{"what was done and to what", &Error{Op: "open archive", Path: "/a.tacho", Err: denied}, "open archive /a.tacho: permission denied", Denied},
		{"another path is told, too", &Error{Op: "open archive", Path: "/b.tacho", Err: denied}, "open archive /b.tacho: open /a.tacho: permission denied", Denied},
		{"the kind that is said goes before the cause's", &Error{Path: "/a.tacho", Kind: NotArchive, Err: denied}, "/a.tacho: permission denied", NotArchive},
		{"an error in an error", fmt.Errorf("reading: %w", &Error{Path: "/a", Kind: OtherFormat, Err: errors.New("format version 9")}), "reading: /a: format version 9", OtherFormat},
		{"a full disk", &Error{Op: "new archive", Err: syscall.ENOSPC}, "new archive: no space left on device", Full},
		{"a panic", &Error{Path: "/a", Err: Contain(func() error { panic("index out of range") })},
			"/a: this program failed over what it holds, which is a mistake of the program; please report it: index out of range", Bug},
		{"nothing known", &Error{Err: errors.New("odd")}, "odd", Other},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.err.Error(); got != c.text {
				t.Errorf("says %q, want %q", got, c.text)
			}
			if got := Of(c.err); got != c.kind {
				t.Errorf("kind %v, want %v", got, c.kind)
			}
		})
	}
}

func TestKindsHaveNames(t *testing.T) {
	if len(kindNames) != int(Bug)+1 {
		t.Fatalf("%d names for %d kinds", len(kindNames), Bug+1)
	}
}
