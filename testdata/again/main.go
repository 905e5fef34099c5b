// Command again runs the tests of the module over and over, beside busy loops and a memory hog,
// in another order each time. It lists the tests that ever failed, with the seeds of their
// orders:
//
//	go run ./testdata/again -for 2h -busy 8 -hog 2G
//	go run ./testdata/again -count 5 ./store/...
//
// It finds a test that fails once in a hundred runs before another developer's change does. With
// the seed the same order is run again:
//
//	go test -shuffle=SEED -run PATTERN PACKAGE
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are what the command line asks for.
type options struct {
	length   time.Duration
	count    int
	busy     int
	hog      size
	parallel int
	seed     uint64
	race     bool
	short    bool
	run      string
	timeout  time.Duration
	packages []string
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == burnArgument {
		burn(os.Args[2])
	}
	var o options
	flag.DurationVar(&o.length, "for", 0, "begin no round after this long; 0: -count rounds")
	flag.IntVar(&o.count, "count", 1, "how many rounds, where -for does not say")
	flag.IntVar(&o.busy, "busy", 8, "how many busy loops run beside the tests")
	flag.Var(&o.hog, "hog", "how much memory another process keeps touching: 500M, 2G; none without it")
	flag.IntVar(&o.parallel, "p", runtime.NumCPU(), "how many packages are tested at once")
	flag.Uint64Var(&o.seed, "seed", 1, "the first round's order; each further round has the next one")
	flag.BoolVar(&o.race, "race", false, "with the race detector")
	flag.BoolVar(&o.short, "short", false, "the short tests only")
	flag.StringVar(&o.run, "run", "", "only tests that match, as with go test")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long a package's tests may take, as with go test")
	flag.Parse()
	o.packages = flag.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	failed, err := again(o, stop, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "again:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// again runs the tests; failed says that any of them failed.
func again(o options, stop <-chan os.Signal, w io.Writer) (failed bool, err error) {
	binaries, clean, err := compile(o)
	if err != nil {
		return false, err
	}
	defer clean()
	quiet, err := disturb(o.busy, int64(o.hog))
	if err != nil {
		return false, err
	}
	defer quiet()
	began := time.Now()
	t := newTally()
	for round := 0; ; round++ {
		if o.length > 0 && time.Since(began) > o.length || o.length == 0 && round == o.count || t.stopped {
			break
		}
		since := time.Now()
		t.round(o, binaries, o.seed+uint64(round), stop)
		fmt.Fprintf(w, "round %d, -shuffle=%d: %s, %d of %d packages failed so far\n", round+1, o.seed+uint64(round),
			time.Since(since).Round(time.Second), t.packages(), len(binaries))
	}
	t.print(w, o, time.Since(began))
	return len(t.failures) > 0, nil
}

// size is a number of bytes, written with a letter for its unit.
type size int64

func (s *size) String() string { return fmt.Sprint(int64(*s)) }

func (s *size) Set(text string) error {
	var n int64
	var unit string
	if _, err := fmt.Sscanf(text+" ", "%d%s", &n, &unit); err != nil && unit == "" && n == 0 {
		return fmt.Errorf("%q is no size: write 500M or 2G", text)
	}
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30}[strings.ToUpper(strings.TrimSuffix(unit, "B"))]
	if !ok || n < 0 {
		return fmt.Errorf("%q is no size: write 500M or 2G", text)
	}
	*s = size(n << shift)
	return nil
}
