package perf

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tachograph/sample/stack"
)

// A debug file is the one that the process has at a path, if that is an ordinary file.
func TestOpenDebugFile(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "a.debug"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("symbols"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	image, m := &stack.Image{Path: "/opt/a"}, newImages()
	m.origins[image] = origin{pid: int32(os.Getpid())}
	s := &Sampler{images: m}
	r, size, err := s.Open(image, file)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := r.ReadAt(b, 0); err != nil || string(b) != "symbols" {
		t.Errorf("%q, %v", b, err)
	}
	r.(io.Closer).Close()
	for _, path := range []string{pipe, "/dev/null", dir, filepath.Join(dir, "none")} {
		if _, _, err := s.Open(image, path); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	if _, _, err := s.Open(&stack.Image{Path: "/opt/a"}, file); err == nil {
		t.Error("a file of an unknown image was opened")
	}
}
