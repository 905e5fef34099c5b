package store_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/seed"
)

// The environment of a test binary that is to be the writer.
const (
	childDir  = "TACHO_TEST_WRITER"
	childFrom = "TACHO_TEST_FROM"
	childSeed = "TACHO_TEST_SEED"
	childItem = "TACHO_TEST_ITEMS"
)

// TestKilledWriter is the writing process of TestKill when its environment
// says so: it records items from the given one on and acknowledges each on its
// standard output once the writer has accepted it.
func TestKilledWriter(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	from, _ := strconv.Atoi(os.Getenv(childFrom))
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	n, _ := strconv.Atoi(os.Getenv(childItem))
	list := proof.Items(seed, n)
	clock := proof.NewClock(list[from].At())
	w, err := recording.Create(recorded.ProofOptions(dir, seed, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	var ack [4]byte
	for i := from; i < n; i++ {
		clock.Set(list[i].At())
		if err := list[i].Append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		binary.LittleEndian.PutUint32(ack[:], uint32(i+1))
		if _, err := os.Stdout.Write(ack[:]); err != nil {
			t.Fatal(err)
		}
		if i%500 == 499 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The parent kills this process; what comes after the last item is waiting
	// for it.
	io.Copy(io.Discard, os.Stdin)
}

// TestKill kills a recording process again and again at random moments and
// compares what is found with what the process had been promised to be safe.
func TestKill(t *testing.T) {
	kills, perDir := proof.Pick(t, 12, 1000), 12
	rnd := rand.New(rand.NewSource(int64(seed.Of(t, 1))))
	for done := 0; done < kills; {
		dir := t.TempDir()
		seed := rnd.Uint64()
		list := proof.Items(seed, 3000)
		have := 0
		for range min(perDir, kills-done) {
			acknowledged := runAndKill(t, dir, seed, have, len(list), rnd)
			c, damage, err := proof.ReadDir(dir)
			if err != nil {
				t.Fatalf("seed %d, from %d: reading after the kill: %v", seed, have, err)
			}
			if have, err = c.CheckPrefix(list, acknowledged); err != nil {
				t.Fatalf("seed %d, killed at %d: %v", seed, acknowledged, err)
			}
			for _, d := range damage {
				t.Errorf("seed %d, killed at %d: reported as damage: %s", seed, acknowledged, d)
			}
			done++
			if have > len(list)-200 {
				break
			}
		}
	}
}

// runAndKill starts a writer at item from, kills it and returns how many items
// it had acknowledged.
func runAndKill(t *testing.T, dir string, seed uint64, from, n int, rnd *rand.Rand) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childFrom+"="+strconv.Itoa(from),
		childSeed+"="+strconv.FormatUint(seed, 10), childItem+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Half of the kills come at a random time, which hits the start as well;
	// the others a moment after a random item.
	after := from + rnd.Intn(250)
	if rnd.Intn(2) == 0 {
		after = -1
		time.AfterFunc(time.Duration(rnd.Intn(60000))*time.Microsecond, func() { cmd.Process.Kill() })
	}
	acknowledged := from
	in := bufio.NewReader(out)
	var ack [4]byte
	for {
		if _, err := io.ReadFull(in, ack[:]); err != nil {
			break
		}
		acknowledged = int(binary.LittleEndian.Uint32(ack[:]))
		if after >= 0 && acknowledged > after {
			after = n + 1
			time.AfterFunc(time.Duration(rnd.Intn(3000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
		if acknowledged == n {
			cmd.Process.Kill()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("seed %d, from %d: the writer ended by itself: %v", seed, from, err)
	}
	return acknowledged
}
