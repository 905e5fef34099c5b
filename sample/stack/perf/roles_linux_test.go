package perf

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/testdata/patience"
)

// The test program in other roles: a Go program whose stacks are known, and a sampler that
// runs as another user.
func TestMain(m *testing.M) {
	switch arg := strings.Join(os.Args[1:], " "); {
	case arg == "burn in Go":
		go burnInGo()
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		return
	case strings.HasPrefix(arg, "sample "):
		sampleAs(strings.TrimPrefix(arg, "sample "))
		return
	}
	code := m.Run()
	if burn.path != "" {
		os.RemoveAll(filepath.Dir(burn.path))
	}
	os.Exit(code)
}

var goSink atomic.Uint64

// goSpin is so small that it has no frame.
//
//go:noinline
func goSpin(n int) {
	sum := uint64(0)
	for i := range n {
		sum += sum ^ uint64(i)
	}
	goSink.Store(sum)
}

//go:noinline
func goHeavy(n int) { goSpin(3 * n); goSink.Add(1) }

//go:noinline
func goLight(n int) { goSpin(n); goSink.Add(1) }

//go:noinline
func goOuter(n int) {
	goHeavy(n)
	goLight(n)
	goSink.Add(1)
}

func burnInGo() {
	// Pieces of equal size would be in step with the sampling clock.
	for r := rand.New(rand.NewPCG(1, 2)); ; {
		goOuter(10_000 + r.IntN(90_000))
	}
}

// sampleAs samples and prints the result. "own" is this process itself, "python" and a Python with
// a script is a program of this user.
func sampleAs(whom string) {
	pid, _ := strconv.ParseInt(whom, 10, 32)
	function := "goOuter"
	switch words := strings.Fields(whom); {
	case whom == "own":
		pid = int64(os.Getpid())
		go burnInGo()
	case words[0] == "python":
		cmd := exec.Command(words[1], words[2], "shares")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		defer cmd.Wait()
		defer in.Close()
		pid, function = int64(cmd.Process.Pid), "Outer.run"
	}
	s := New()
	namer := symbol.NewNamer(s.Open, symbol.Recording)
	ctx, cancel := context.WithTimeout(context.Background(), patience.Stretch(30*time.Second))
	defer cancel()
	seen := false
	statistics, err := s.Sample(ctx, stack.Wish{PID: int32(pid), Rate: 99, For: time.Hour}, func(x *stack.Sample) {
		namer.Name(x)
		for _, f := range x.Frames {
			if strings.HasSuffix(f.Name, function) {
				seen = true
				cancel()
			}
		}
	})
	switch {
	case err != nil:
		fmt.Println(err)
	case seen:
		fmt.Printf("%s: %s was seen\n", statistics.How, function)
	default:
		fmt.Printf("%+v\n", statistics)
	}
}
