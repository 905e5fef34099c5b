package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/fault"
	"tachograph/store/storetest"
)

func (f *memFile) Size() (int64, error) { return int64(len(f.data)), nil }

// unreadable is a file that the disk fails to read.
type unreadable struct{ memFile }

var errDisk = errors.New("input/output error")

func (f *unreadable) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

const perGeneration = 5

// generations returns three files of a journal, with five events each, and where the records
// of a file begin.
func generations(t *testing.T) (files [3][]byte, starts []int64) {
	for n := range files {
		f := &memFile{}
		w := NewWriter(f, Header{Archive: "a", Generation: uint64(n) + 1, Base: uint64(n) * perGeneration, At: metric.Stamp{Wall: int64(n+1) * 100}}, nil)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		starts = []int64{w.Size()}
		for i := range perGeneration {
			if err := w.Event(&metric.Event{Kind: metric.EventGap, Text: fmt.Sprint("event ", i)}); err != nil {
				t.Fatal(err)
			}
			starts = append(starts, w.Size())
		}
		files[n] = f.data
	}
	return files, starts
}

// Each kind of end has the same meaning in any generation, whether they are read in order or
// side by side.
func TestEnds(t *testing.T) {
	files, starts := generations(t)
	flipped := func(b []byte, at int64) File {
		b[at] ^= 4
		return &memFile{data: b}
	}
	cut := func(b []byte, at int64) File { return &memFile{data: b[:at]} }
	for _, c := range []struct {
		name  string
		file  func(b []byte) File
		kept  int
		old   Verdict // in a generation before another one
		last  Verdict
		says  string
		early bool // the archive comes from an early writer
	}{
		{name: "whole", file: func(b []byte) File { return &memFile{data: b} }, kept: 5},
		{"a record cut short", func(b []byte) File { return cut(b, starts[5]-3) }, 4, Damaged, CutShort, "", false},
		{"room that was never written", func(b []byte) File { return &memFile{data: append(b[:starts[3]], make([]byte, 4096)...)} }, 3, Damaged, CutShort, "", false},
		{"between two records", func(b []byte) File { return cut(b, starts[4]) }, 4, Whole, Whole, "", false},
		{"a flipped bit", func(b []byte) File { return flipped(b, starts[2]+3) }, 2, Damaged, Damaged, fmt.Sprintf("%d bytes from byte %d on are damaged", starts[5]+MarkSize-starts[2], starts[2]), false},
		{"bytes behind", func(b []byte) File { return &memFile{data: append(b[:starts[5]], "\x01mores"...)} }, 5, Damaged, Damaged, "6 bytes from byte", false},
		{name: "the past behind its mark", file: func(b []byte) File { return &memFile{data: append(b, files[2][starts[0]:]...)} }, kept: 5},
		{"a mark that is another's", func(b []byte) File { return flipped(b, starts[5]+2) }, 5, Damaged, Damaged, "5 bytes from byte", false},
		{"a length that became zero", func(b []byte) File { b[starts[2]] = 0; return &memFile{data: b} }, 2, Damaged, Damaged, "are damaged", false},
		{"a record that means nothing", func(b []byte) File {
			data, _ := appendFrame(b[:starts[3]], binary.LittleEndian.Uint32(b[starts[3]-crcSize:]), []byte{0xff})
			return &memFile{data: data}
		}, 3, Damaged, Damaged, fmt.Sprintf("record %%d at byte %d: record of unknown kind", starts[3]), false},
		{"another beginning", func(b []byte) File { return flipped(b, 3) }, 0, Headless, Headless, "its beginning is damaged or was never written whole", false},
		{"a damaged header", func(b []byte) File { return flipped(b, 12) }, 0, Headless, Headless, "its beginning is damaged or was never written whole", false},
		{"a header cut short", func(b []byte) File { return cut(b, starts[0]-1) }, 0, Headless, Headless, "its beginning is damaged or was never written whole", false},
		{"part of the magic", func(b []byte) File { return cut(b, 5) }, 0, Headless, Headless, "its beginning is damaged or was never written whole", false},
		{"empty", func(b []byte) File { return cut(b, 0) }, 0, Emptied, Emptied, "it is empty", false},
		{"an early writer's, empty", func(b []byte) File { return cut(b, 0) }, 0, Whole, Whole, "", true},
		{"another archive's", func(b []byte) File {
			data, _ := appendHeader(nil, Header{Archive: "b", Generation: 1})
			return &memFile{data: data}
		}, 0, Foreign, Foreign, "it belongs to another archive, b", false},
		{"of a later format", func(b []byte) File {
			data, _ := appendFrame([]byte(magic), crc32.Checksum([]byte(magic), castagnoli), []byte{headerVersion + 1})
			return &memFile{data: data}
		}, 0, Foreign, Foreign, "journal format 4", false},
		{"a disk that gives nothing", func(b []byte) File { return &unreadable{memFile{data: b}} }, 0, Foreign, Foreign, errDisk.Error(), false},
	} {
		for at := range files {
			for mode, follow := range modes {
				t.Run(fmt.Sprintf("%s/generation %d/%s", c.name, at+1, mode), func(t *testing.T) {
					f := &Follower{Archive: "a", Counted: true, Last: 7, First: 1}
					if c.early {
						f.First = 0
					}
					var gens []*Generation
					for n, data := range files {
						gens = append(gens, &Generation{File: &memFile{data: data}, Number: uint64(n) + 1, Old: n+1 < len(files)})
					}
					gens[at].File = c.file(slices.Clone(files[at]))
					seqs, ends, holes := follow(f, gens)
					var want []uint64
					for seq := range uint64(3 * perGeneration) {
						if int(seq)/perGeneration != at || int(seq)%perGeneration < c.kept {
							want = append(want, seq+1)
						}
					}
					if !slices.Equal(seqs, want) {
						t.Errorf("records %v, want %v", seqs, want)
					}
					verdict := c.last
					if gens[at].Old {
						verdict = c.old
						lost := uint64(perGeneration - c.kept)
						if h := holes[at+1]; lost > 0 && (h == nil || h.Records != lost || h.From != 7 || h.To.Wall != int64(at+2)*100) || lost == 0 && h != nil {
							t.Errorf("hole %+v, want %d records", h, lost)
						}
					}
					for n, end := range ends {
						switch {
						case n != at && end.Err != nil:
							t.Errorf("generation %d: %v", n+1, end.Err)
						case n == at && end.Verdict != verdict:
							t.Errorf("verdict %d (%v), want %d", end.Verdict, end.Err, verdict)
						case n == at && (end.Err == nil) != (verdict == Whole):
							t.Errorf("verdict %d says %v", verdict, end.Err)
						case n == at && c.says != "" && !strings.Contains(end.Err.Error(), strings.Replace(c.says, "%d", fmt.Sprint(at*perGeneration+c.kept+1), 1)):
							t.Errorf("says %q, want %q", end.Err, c.says)
						case n == at && verdict == CutShort && end.Err.Error() != "its last record is cut short, as by a crash":
							t.Errorf("says %q", end.Err)
						}
					}
				})
			}
		}
	}
}

// modes are the ways in which generations are followed.
var modes = map[string]func(*Follower, []*Generation) (seqs []uint64, ends []End, holes []*Hole){
	"in order": func(f *Follower, gens []*Generation) (seqs []uint64, ends []End, holes []*Hole) {
		for _, g := range gens {
			var hole *Hole
			ends = append(ends, f.Follow(g, func(rec *Record) { seqs = append(seqs, rec.Seq) }, func(h *Hole) {
				if hole != nil || len(seqs) > 0 && seqs[len(seqs)-1] > g.reader.Header().Base {
					panic("a hole behind the records that it is before")
				}
				hole = h
			}))
			holes = append(holes, hole)
		}
		return seqs, ends, holes
	},
	"side by side": func(f *Follower, gens []*Generation) (seqs []uint64, ends []End, holes []*Hole) {
		ends, all := make([]End, len(gens)), make([][]uint64, len(gens))
		var group sync.WaitGroup
		f.Live = true
		for n, g := range gens {
			group.Go(func() {
				ends[n] = f.Read(g, func(rec *Record) { all[n] = append(all[n], rec.Seq) })
			})
		}
		group.Wait()
		for _, g := range gens {
			holes = append(holes, f.Missing(g))
		}
		return slices.Concat(all...), ends, holes
	},
}

// Records that the archive holds are returned only if all are wanted.
func TestHeldRecordsAreFollowed(t *testing.T) {
	files, _ := generations(t)
	for _, c := range []struct {
		name    string
		f       Follower
		from    int // the first generation that exists
		first   uint64
		missing uint64
	}{
		{"all is new", Follower{Counted: true}, 0, 1, 0},
		{"some are held", Follower{Counted: true, Seq: 7}, 0, 8, 0},
		{"held ones are wanted", Follower{Counted: true, Seq: 7, All: true}, 0, 1, 0},
		{"a generation is missing", Follower{Counted: true, Seq: 2}, 1, 6, 3},
		{"nothing is known of the archive", Follower{}, 1, 6, 0},
	} {
		for mode, follow := range modes {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				f := c.f
				var gens []*Generation
				for _, data := range files[c.from:] {
					gens = append(gens, &Generation{File: &memFile{data: data}})
				}
				seqs, _, holes := follow(&f, gens)
				if seqs[0] != c.first || len(seqs) != 3*perGeneration+1-int(c.first) || f.Seq != 3*perGeneration || f.Archive != "a" {
					t.Errorf("records %v, then at %d of %q", seqs, f.Seq, f.Archive)
				}
				if h := holes[0]; (h == nil) != (c.missing == 0) || h != nil && h.Records != c.missing {
					t.Errorf("hole %+v, want %d records", h, c.missing)
				}
			})
		}
	}
}

// If this program fails on the content of one file, the other files are still read.
func TestFollowingContainsMistakes(t *testing.T) {
	files, _ := generations(t)
	f := &Follower{Counted: true}
	var seqs []uint64
	for n, data := range files {
		end := f.Follow(&Generation{File: &memFile{data: data}}, func(rec *Record) {
			if rec.Seq == 8 {
				panic("mistake")
			}
			seqs = append(seqs, rec.Seq)
		}, func(*Hole) {})
		if failed := errors.As(end.Err, new(fault.Failed)); failed != (n == 1) || failed != (end.Verdict == Damaged) {
			t.Errorf("generation %d: %+v", n+1, end)
		}
	}
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15}; !slices.Equal(seqs, want) {
		t.Errorf("records %v, want %v", seqs, want)
	}
}

// slowFile shows more of its bytes with each step of time.
type slowFile struct {
	memFile
	begun time.Time
	steps []int64
	step  time.Duration
}

func (f *slowFile) ReadAt(p []byte, off int64) (int, error) {
	size, _ := f.Size()
	return (&memFile{data: f.data[:size]}).ReadAt(p, off)
}

func (f *slowFile) Size() (int64, error) {
	return f.steps[min(int(time.Since(f.begun)/f.step), len(f.steps)-1)], nil
}

// A reader waits for a record that is being written if a recorder runs, and does not wait if
// none does.
func TestARecordThatIsBeingWritten(t *testing.T) {
	files, starts := generations(t)
	for _, c := range []struct {
		name  string
		steps []int64
		step  time.Duration
		old   bool
		dead  bool
		kept  int
		want  Verdict
	}{
		{"it comes", []int64{starts[3] - 5, starts[3]}, 2 * time.Millisecond, false, false, 3, Whole},
		{"bit by bit", []int64{starts[3] - 3, starts[3] - 2, starts[3] - 1, starts[3]}, 2 * time.Millisecond, false, false, 3, Whole},
		{"the header, too", []int64{3, starts[0] - 1, starts[1]}, 2 * time.Millisecond, false, false, 1, Whole},
		{"it does not come", []int64{starts[3] - 5, starts[3]}, time.Second, false, false, 2, CutShort},
		{"nobody writes", []int64{starts[3] - 5, starts[3]}, 2 * time.Millisecond, false, true, 2, CutShort},
		{"nobody writes there any more", []int64{starts[3] - 5, starts[3]}, 2 * time.Millisecond, true, false, 2, Damaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Generation{File: &slowFile{memFile{data: files[0]}, time.Now(), c.steps, c.step}, Old: c.old}
				f := &Follower{Archive: "a", Live: !c.dead}
				n := 0
				end := f.Read(g, func(*Record) { n++ })
				if n != c.kept || end.Verdict != c.want {
					t.Errorf("%d records and verdict %d (%v), want %d and %d", n, end.Verdict, end.Err, c.kept, c.want)
				}
				if waited := time.Since(g.File.(*slowFile).begun); (c.old || c.dead) && waited > 0 || waited > 20*time.Millisecond {
					t.Errorf("waited %v", waited)
				}
				// A second read does not wait again for what did not come the first time.
				again := time.Now()
				if end := f.Read(g, func(*Record) { n++ }); end.Verdict != c.want || time.Since(again) > 0 {
					t.Errorf("then verdict %d after %v", end.Verdict, time.Since(again))
				}
				time.Sleep(10 * time.Second)
				size, _ := g.File.Size()
				if end := f.Read(g, func(*Record) { n++ }); end.Verdict != Whole || starts[n] != size {
					t.Errorf("in the end %d records and verdict %d (%v)", n, end.Verdict, end.Err)
				}
			})
		})
	}
}

// countedFile counts the reads of a file.
type countedFile struct {
	*memFile
	reads int
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.reads++
	return f.memFile.ReadAt(p, off)
}

// TestNewsCostOneRead adds ticks to a generation that is followed. Each costs one read,
// which also shows that it is the last.
func TestNewsCostOneRead(t *testing.T) {
	f := &countedFile{memFile: &memFile{}}
	w := NewWriter(f, head, nil)
	follow := &Follower{Live: true}
	g := &Generation{File: f}
	m := storetest.NewMachine(2)
	for s := range 40 {
		ticks := m.Ticks(s)
		for _, tick := range ticks {
			if err := w.Tick(tick); err != nil {
				t.Fatal(err)
			}
		}
		f.reads = 0
		for range ticks {
			if _, err := follow.Next(g); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := follow.Next(g); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if s > 0 && f.reads != 1 {
			t.Fatalf("second %d: %d ticks cost %d reads", s, len(ticks), f.reads)
		}
	}
}
