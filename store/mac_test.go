package store_test

import (
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// What TestSimulatedMac and the Mac executable have agreed upon.
const (
	macDir   = "Library/Tachograph"
	macSeed  = 77
	macFrom  = "TACHO_TEST_MAC_FROM"
	macCount = "TACHO_TEST_MAC_COUNT"
	macBoot  = "TACHO_TEST_MAC_BOOT"
)

// macNotes is what a run said: how many items were accepted, how many of them
// a barrier had covered, and how many a full sync.
type macNotes struct{ accepted, kept, safe int }

func readMacNotes(r io.Reader) (n macNotes) {
	for {
		var note [5]byte
		if _, err := io.ReadFull(r, note[:]); err != nil {
			return n
		}
		v := int(binary.LittleEndian.Uint32(note[1:]))
		switch note[0] {
		case 'A':
			n.accepted = v
		case 'B':
			n.kept = max(n.kept, v)
		case 'S':
			n.kept, n.safe = max(n.kept, v), max(n.safe, v)
		}
	}
}

// tellingFS says when a sync of the newest journal file has covered what was
// accepted before it began.
type tellingFS struct {
	disk.FS
	mu       sync.Mutex
	accepted int
	newest   string
}

func (f *tellingFS) tell(kind byte, n int) {
	note := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(n))
	if _, err := os.Stdout.Write(note); err != nil {
		panic(err)
	}
}

func (f *tellingFS) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || !layout.IsJournalName(filepath.Base(name)) || flag&os.O_CREATE == 0 {
		return file, err
	}
	f.mu.Lock()
	f.newest = name
	f.mu.Unlock()
	return &tellingFile{File: file, fs: f}, nil
}

type tellingFile struct {
	disk.File
	fs *tellingFS
}

func (f *tellingFile) Barrier() error { return f.covered('B', f.File.Barrier) }
func (f *tellingFile) Sync() error    { return f.covered('S', f.File.Sync) }

func (f *tellingFile) covered(kind byte, sync func() error) error {
	f.fs.mu.Lock()
	n, newest := f.fs.accepted, f.fs.newest == f.Name()
	f.fs.mu.Unlock()
	err := sync()
	if err == nil && newest {
		f.fs.tell(kind, n)
	}
	return err
}

// TestMacWriter is the recording of TestSimulatedMac when its environment says
// so. It records an item at its time and acknowledges it.
func TestMacWriter(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(macCount))
	if err != nil {
		return
	}
	from, err := strconv.Atoi(os.Getenv(macFrom))
	if err != nil {
		t.Fatal(err)
	}
	list := proof.Items(macSeed, n)
	if from >= n {
		return
	}
	clock := proof.NewClock(list[from].At())
	telling := &tellingFS{FS: disk.OS, accepted: from}
	opt := recorded.ProofOptions("/"+macDir, macSeed, clock.Now)
	opt.BootID, opt.FS, opt.Seal = os.Getenv(macBoot), telling, 3*time.Second
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := from; i < n; i++ {
		time.Sleep(time.Duration(list[i].Second-list[from].Second)*time.Second - time.Since(began))
		clock.Set(list[i].At())
		if err := list[i].Append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		telling.mu.Lock()
		telling.accepted = i + 1
		telling.mu.Unlock()
		telling.tell('A', i+1)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
