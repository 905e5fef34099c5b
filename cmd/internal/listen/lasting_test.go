package listen

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// Who takes the file away does not keep others from connecting for long: it is made anew
// when that is seen, and soon if somebody said that it may be taken.
func TestLasting(t *testing.T) {
	const never = 24 * time.Hour
	for name, c := range map[string]struct {
		pace
		look bool
	}{
		"seldom":   {pace{seldom: 10 * time.Millisecond, often: never}, false},
		"often":    {pace{seldom: never, often: 10 * time.Millisecond, awhile: never}, true},
		"as usual": {usualPace, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(shortDir(t), "s")
			l, err := last(c.pace, func() (*Socket, error) { return Unix("--at", path, 0o600, "") }, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan error)
			go func() {
				for {
					c, err := l.Accept()
					accepted <- err
					if err != nil {
						return
					}
					c.Close()
				}
			}()
			connect := func() {
				t.Helper()
				patience.Until(t, "the socket is there", func() bool {
					c, err := net.Dial("unix", path)
					if err == nil {
						c.Close()
					}
					return err == nil
				})
				if err := <-accepted; err != nil {
					t.Fatal(err)
				}
			}
			connect()
			for range 2 {
				if c.look {
					l.Look()
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				since := time.Now()
				connect()
				t.Logf("there again after %v", time.Since(since))
			}
			l.Close()
			if err := <-accepted; !errors.Is(err, net.ErrClosed) {
				t.Errorf("it ends with %v", err)
			}
			if _, err := os.Lstat(path); err == nil {
				t.Error("the file is still there")
			}
		})
	}
}
