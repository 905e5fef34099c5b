package journal

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"tachograph/sample/metric"
)

// memFile is a file in memory that can be made to fail.
type memFile struct {
	data []byte
	fail func(p []byte) (int, error)
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := len(p), error(nil)
	if f.fail != nil {
		n, err = f.fail(p)
	}
	if need := int(off) + n; need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	copy(f.data[off:], p[:n])
	return n, err
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// copyOf copies a tick, because the machine goes on to change it.
func copyOf(t *metric.Tick) *metric.Tick {
	body, err := NewEncoder().Tick(nil, t)
	if err != nil {
		panic(err)
	}
	var rec Record
	if err := NewDecoder(false, nil).Decode(body, &rec); err != nil {
		panic(err)
	}
	return rec.Tick
}

var head = Header{Archive: "0123456789abcdef", Generation: 3, Base: 41, At: metric.Stamp{Wall: 1, Awake: 2, Cont: 3}}

func TestReaderFollowsTheWriter(t *testing.T) {
	f := &memFile{}
	w := NewWriter(f, head, nil)
	if _, err := NewReader(f, nil, nil); !errors.Is(err, io.EOF) {
		t.Fatalf("empty file: %v", err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(f, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Header() != head {
		t.Fatalf("header %+v", r.Header())
	}
	m := newMachine(4)
	for i := range 100 {
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("nothing was written, yet: %v", err)
		}
		var want []*metric.Tick
		for range i % 3 {
			tick := m.tick(metric.Fast)
			want = append(want, copyOf(tick))
			if err := w.Tick(tick); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Event(&metric.Event{Kind: metric.EventGap, Text: "gap"}); err != nil {
			t.Fatal(err)
		}
		for _, tick := range want {
			rec, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := sameTick(tick, rec.Tick); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := r.Next()
		if err != nil || rec.Kind != KindEvent || rec.Seq != w.Seq() {
			t.Fatalf("%+v %v", rec, err)
		}
	}
	if r.Offset() != w.Size() {
		t.Fatalf("read %d of %d", r.Offset(), w.Size())
	}
}

func TestTornFilesGiveTheirSoundPart(t *testing.T) {
	f := &memFile{}
	w := NewWriter(f, head, nil)
	m := newMachine(5)
	ends := []int64{}
	for range 40 {
		if err := w.Tick(m.tick(metric.Fast)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, w.Size())
	}
	count := func(data []byte) (n int) {
		r, err := NewReader(&memFile{data: data}, nil, nil)
		if err != nil {
			return -1
		}
		for {
			if _, err := r.Next(); err != nil {
				if err != io.EOF {
					t.Fatal(err)
				}
				return n
			}
			n++
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		cut := rnd.IntN(len(f.data) + 1)
		want := 0
		for want < len(ends) && ends[want] <= int64(cut) {
			want++
		}
		if got := count(f.data[:cut]); got != want && got != -1 {
			t.Fatalf("cut at %d: %d records, want %d", cut, got, want)
		}
		// The tail may hold zeros or older content, because it was never written.
		if got := count(append(bytes.Clone(f.data[:cut]), make([]byte, 5000)...)); got > want {
			t.Fatalf("cut at %d and zeros: %d records, want %d", cut, got, want)
		}
		flipped := bytes.Clone(f.data)
		bit := rnd.IntN(len(flipped) * 8)
		flipped[bit/8] ^= 1 << (bit % 8)
		want = 0
		for want < len(ends) && ends[want] <= int64(bit/8) {
			want++
		}
		if got := count(flipped); got != want && got != -1 {
			t.Fatalf("bit %d flipped: %d records, want %d", bit, got, want)
		}
	}
}

func TestWhatCannotBeWrittenIsHeldAndWrittenLater(t *testing.T) {
	f := &memFile{}
	w := NewWriter(f, head, nil)
	m := newMachine(6)
	full := errors.New("no space left")
	var want []*metric.Tick
	for i := range 60 {
		f.fail = nil
		if i/10%2 == 1 {
			f.fail = func(p []byte) (int, error) { return len(p) * (i % 3) / 3, full }
		}
		tick := m.tick(metric.Fast)
		want = append(want, copyOf(tick))
		err := w.Tick(tick)
		if (f.fail != nil) != errors.Is(err, full) || Refused(err) {
			t.Fatal(i, err)
		}
		if n, _ := w.Held(); f.fail != nil && n != uint64(i%10+1) || f.fail == nil && n != 0 {
			t.Fatalf("tick %d: %d records held", i, n)
		}
	}
	f.fail = nil
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(f, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, tick := range want {
		rec, err := r.Next()
		if err != nil || rec.Seq != head.Base+uint64(i)+1 {
			t.Fatal(i, err)
		}
		if err := sameTick(tick, rec.Tick); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := w.Tick(&metric.Tick{Class: metric.NumClasses}); !Refused(err) {
		t.Fatalf("a malformed tick was not refused: %v", err)
	}
}

func TestForeignFilesAreNotJournals(t *testing.T) {
	for _, data := range []string{"hello, world", "T", "TACHOJN2........"} {
		if _, err := NewReader(&memFile{data: []byte(data)}, nil, nil); !errors.Is(err, ErrNotJournal) && err != io.EOF {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	file := &memFile{}
	w := NewWriter(file, head, nil)
	m := newMachine(2)
	for range 5 {
		if err := w.Tick(m.tick(metric.Fast)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(file.data)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, later := range []bool{false, true} {
			r, err := NewReader(&memFile{data: data}, nil, nil)
			if err == nil {
				r.later = later
			}
			for err == nil {
				var rec *Record
				if rec, err = r.Next(); err == nil && rec.Later != nil {
					_ = rec.Later.Decode(new(metric.Tick))
				}
			}
		}
	})
}
