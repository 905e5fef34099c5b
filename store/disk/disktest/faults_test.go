package disktest

import (
	"errors"
	"syscall"
	"testing"
)

func TestFaultsOfText(t *testing.T) {
	write := Op{Kind: Write, Name: "a/host.live.j000001", Data: make([]byte, 10)}
	for _, c := range []struct {
		name, text string
		op         Op
		err        error
		short      int // -1: not a short write
	}{
		{"the kind decides", "write, create: ENOSPC", write, syscall.ENOSPC, -1},
		{"another kind succeeds", "create: ENOSPC", write, nil, -1},
		{"kinds of two words", "bolt commit: EIO", Op{Kind: BoltCommit}, syscall.EIO, -1},
		{"the file's name decides", "write of *.j*: EIO", write, syscall.EIO, -1},
		{"another file succeeds", "write of *.live: EIO", write, nil, -1},
		{"after some bytes", "write: EIO after 3 bytes", write, syscall.EIO, 3},
		{"halfway", "any: EROFS halfway", write, syscall.EROFS, 5},
		{"halfway is for writes", "any: EROFS halfway", Op{Kind: Rename}, syscall.EROFS, -1},
		{"the first rule decides", "write: ok; any: EROFS", write, nil, -1},
		{"the next one, too", "read: ok; any: EACCES", write, syscall.EACCES, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Faults(c.text)(c.op)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if short := (*Short)(nil); errors.As(err, &short) != (c.short >= 0) || short != nil && short.N != c.short {
				t.Errorf("short %+v, want %d", short, c.short)
			}
		})
	}
	for _, text := range []string{"", "write", "write: EODD", "wrote: EIO", "write of: EIO", "write: EIO after some bytes", "write of : EIO"} {
		t.Run("refused: "+text, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is taken for a rule")
				}
			}()
			Faults(text)
		})
	}
}
