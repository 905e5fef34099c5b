// Package child starts programs that tests talk to.
package child

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// Start starts a program, writes to its standard input and reads its standard output. The program
// is killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return in, bufio.NewReader(said)
}
