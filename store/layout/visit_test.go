package layout

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/storetest"
)

// An example is a small archive with at least one record of every kind.
type example struct {
	path   string
	header Header
	descs  []*metric.Desc
	chunks []*chunk.Sealed // the second one is in a bucket of its own
	events []metric.Event
	totals Totals
}

const exampleConfig = "[sampling]\n"

var (
	exampleIntervals = metric.Intervals{metric.Fast: 1e9, metric.Static: 1<<63 - 1}
	exampleProgress  = Progress{Sealed: 7, Generation: 3}
)

func newExample(t testing.TB) *example {
	t.Helper()
	x := &example{path: filepath.Join(t.TempDir(), "a.live"), header: Header{Format: FormatVersion, ID: "0123", Host: metric.Host{ID: "h", Name: "host"},
		BootID: "b", TimeZone: "UTC", Recorder: "test", Created: 5, Serial: 2}}
	m, cat := storetest.NewMachine(1), NewCatalog(nil)
	for part := range 2 {
		b := chunk.NewBuilder(metric.Fast)
		for s := range 3 {
			for _, tick := range m.Ticks(3*part + s) {
				if tick.Class == metric.Fast {
					if err := b.Append(tick); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		s, err := b.Seal(cat.Number)
		if err != nil {
			t.Fatal(err)
		}
		x.chunks = append(x.chunks, s)
	}
	x.descs = cat.Descs
	x.events = []metric.Event{{At: m.At(1), Kind: metric.EventProcessStart, Key: "1"}, {At: m.At(2), Kind: metric.EventGap, Text: "x"}}
	x.update(t, Build(&x.totals, func(b *Builder) {
		b.Create(&x.header)
		b.Settings(exampleConfig, exampleIntervals)
		b.Progress(exampleProgress)
		b.Descs(cat.Pending())
		b.Chunk(x.chunks[0])
		b.Count()
	}))
	x.update(t, Build(&x.totals, func(b *Builder) {
		b.ChunkApart(x.chunks[1])
		b.Events(slices.Values(x.events))
		b.Finish()
	}))
	return x
}

func (x *example) update(t testing.TB, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := disk.OS.OpenBolt(x.path, 0o600, bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(fn); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// told records what a visitor with all its functions receives, one line for each call.
type told struct {
	lines   []string
	damaged []*RecordError
}

// everything returns a visitor that writes all it receives into to.
func everything(to *told) *Visitor {
	say := func(format string, args ...any) { to.lines = append(to.lines, fmt.Sprintf(format, args...)) }
	return &Visitor{
		Header:      func(h Header) { say("header %+v", h) },
		Config:      func(s string) { say("config %q", s) },
		Intervals:   func(iv metric.Intervals) { say("intervals %v", iv) },
		Totals:      func(t Totals) { say("totals %+v", t) },
		Progress:    func(p Progress) { say("progress %+v", p) },
		Descs:       func(first uint32, ds []*metric.Desc) { say("descs %d %v", first, values(ds)) },
		SpareHeader: func(h Header) { say("spare header %+v", h) },
		SpareDescs:  func(first uint32, ds []*metric.Desc) { say("spare descs %d %v", first, values(ds)) },
		Index:       func(n uint32, in chunk.Info) { say("index %d %+v", n, in) },
		Chunk: func(class metric.Class, n uint32, read func() ([]byte, error)) {
			data, err := read()
			say("chunk %s %d %x %v", class, n, data, err)
		},
		Events:  func(n uint32, events []metric.Event) { say("events %d %+v", n, events) },
		Damaged: func(e *RecordError) { to.damaged = append(to.damaged, e) },
	}
}

func values(ds []*metric.Desc) (out []metric.Desc) {
	for _, d := range ds {
		out = append(out, *d)
	}
	return out
}

func (x *example) visit(t testing.TB, v *Visitor) {
	t.Helper()
	if err := WithSnapshot(x.path, func(s *boltread.Snapshot) error { v.Visit(s, Buckets...); return nil }); err != nil {
		t.Fatal(err)
	}
}

// lines returns what a visitor of x must receive.
func (x *example) lines() []string {
	var want told
	v := everything(&want)
	v.Header(x.header)
	v.Config(exampleConfig)
	v.Intervals(exampleIntervals)
	v.Progress(exampleProgress)
	v.Totals(x.totals)
	v.Descs(0, x.descs)
	for n, s := range x.chunks {
		v.Index(uint32(n), s.Info)
	}
	for n, s := range x.chunks {
		v.Chunk(s.Info.Class, uint32(n), func() ([]byte, error) { return s.Data, nil })
	}
	v.Events(0, x.events[1:])
	v.Events(1, x.events[:1])
	v.SpareDescs(0, bare(x.descs))
	v.SpareHeader(x.header)
	return want.lines
}

func TestVisitorIsToldWhatTheBuilderPut(t *testing.T) {
	x := newExample(t)
	if want := (Totals{Chunks: map[string]uint32{"fast": 2}, Events: 2, Metrics: uint32(len(x.descs)), Finished: true}); !reflect.DeepEqual(x.totals, want) {
		t.Errorf("counted %+v, want %+v", x.totals, want)
	}
	var got told
	v := everything(&got)
	x.visit(t, v)
	if want := x.lines(); !slices.Equal(got.lines, want) || got.damaged != nil {
		t.Errorf("told\n%s\nwant\n%s\ndamage %v", strings.Join(got.lines, "\n"), strings.Join(want, "\n"), got.damaged)
	}
	var heads []chunk.EventHead
	v.Events = nil
	v.EventHead = func(_ uint32, h chunk.EventHead, batch []byte) {
		if _, err := chunk.ParseEvents(batch); err != nil {
			t.Error(err)
		}
		heads = append(heads, h)
	}
	x.visit(t, v)
	if len(heads) != 2 || heads[0].Count != 1 || heads[1].Kinds[0] != metric.EventProcessStart {
		t.Errorf("heads of events %+v", heads)
	}
	err := WithSnapshot(x.path, func(s *boltread.Snapshot) error { return new(Visitor).VisitAll(s, Buckets...) })
	if err != nil {
		t.Errorf("VisitAll of a sound archive: %v", err)
	}
}

// TestVisitorTellsDamage damages each record in turn, in three ways.
func TestVisitorTellsDamage(t *testing.T) {
	type record struct {
		bucket, key string
		line        string // what the error must say
	}
	records := []record{
		{BucketMeta, MetaArchive, "header"}, {BucketMeta, MetaConfig, "config"}, {BucketMeta, MetaIntervals, "intervals"},
		{BucketMeta, MetaTotals, "totals"}, {BucketMeta, MetaJournal, "progress"},
		{BucketMetrics, string(NumberKey(0)), "descs"}, {BucketIndex, string(ChunkKey(metric.Fast, 1)), "index 1"},
		{BucketEvents, string(NumberKey(1)), "events 1"},
		{BucketSpare, MetaArchive, "spare header"}, {BucketSpare, string(NumberKey(0)), "spare descs"},
	}
	// Flipped bits, content that is wrong but has a right checksum, and a record that is too
	// long.
	spoils := map[string]func(r record, stored []byte) []byte{
		"flipped":   func(_ record, b []byte) []byte { b[len(b)/2] ^= 3; return b },
		"senseless": func(r record, _ []byte) []byte { return wrap(r.bucket, []byte(r.key), []byte{0xff}) },
		"too long":  func(record, []byte) []byte { return make([]byte, MaxRecord+1) },
	}
	for _, r := range records {
		for how, spoil := range spoils {
			if how == "too long" && (testing.Short() || r.line != "config") {
				continue
			}
			t.Run(r.line+" "+how, func(t *testing.T) {
				x := newExample(t)
				x.update(t, func(tx *bbolt.Tx) error {
					b := tx.Bucket([]byte(r.bucket))
					return b.Put([]byte(r.key), spoil(r, bytes.Clone(b.Get([]byte(r.key)))))
				})
				var got told
				x.visit(t, everything(&got))
				want := slices.DeleteFunc(x.lines(), func(l string) bool { return strings.HasPrefix(l, r.line) })
				if !slices.Equal(got.lines, want) {
					t.Errorf("told\n%s\nwant\n%s", strings.Join(got.lines, "\n"), strings.Join(want, "\n"))
				}
				if len(got.damaged) != 1 || got.damaged[0].Bucket != r.bucket || string(got.damaged[0].Key) != r.key {
					t.Fatalf("damage %v", got.damaged)
				}
				if bad := errors.Is(got.damaged[0], ErrChecksum); bad != (how == "flipped") {
					t.Errorf("%v", got.damaged[0])
				}
				err := WithSnapshot(x.path, func(s *boltread.Snapshot) error { return new(Visitor).VisitAll(s, Buckets...) })
				if !errors.As(err, new(*RecordError)) {
					t.Errorf("VisitAll: %v", err)
				}
				err = WithSnapshot(x.path, func(s *boltread.Snapshot) error { return new(Visitor).VisitOne(s, r.bucket, r.key) })
				if !errors.As(err, new(*RecordError)) {
					t.Errorf("VisitOne: %v", err)
				}
			})
		}
	}
}

// TestVisitorMends flips one bit of each record. The visitor must receive it as it was
// written, and Damaged must be called all the same.
func TestVisitorMends(t *testing.T) {
	for _, bucket := range slices.Concat(Buckets, Beside) {
		if bucket == BucketChunks {
			continue
		}
		x := newExample(t)
		records := 0
		x.update(t, func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			if b == nil {
				return nil
			}
			return b.ForEach(func(key, stored []byte) error {
				stored = bytes.Clone(stored)
				stored[records%len(stored)] ^= 1 << (records % 8)
				records++
				return b.Put(bytes.Clone(key), stored)
			})
		})
		var got told
		x.visit(t, everything(&got))
		if want := x.lines(); !slices.Equal(got.lines, want) {
			t.Errorf("%s: told\n%s\nwant\n%s", bucket, strings.Join(got.lines, "\n"), strings.Join(want, "\n"))
		}
		if len(got.damaged) != records {
			t.Errorf("%s: %d records, damage %v", bucket, records, got.damaged)
		}
		for _, d := range got.damaged {
			if !errors.Is(d, chunk.ErrMended) {
				t.Error(d)
			}
		}
	}
}

func TestVisitorTellsMissingBuckets(t *testing.T) {
	for _, bucket := range Buckets {
		t.Run(bucket, func(t *testing.T) {
			x := newExample(t)
			x.update(t, func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(bucket)) })
			var got told
			x.visit(t, everything(&got))
			if len(got.damaged) != 1 || got.damaged[0].Where() != "bucket "+bucket || !errors.Is(got.damaged[0], ErrMissing) {
				t.Errorf("damage %v", got.damaged)
			}
			if err := got.damaged[0].Error(); err != "bucket "+bucket+" is missing" {
				t.Error(err)
			}
		})
	}
}

func TestVisitorPassesOverOtherKeysOfMeta(t *testing.T) {
	x := newExample(t)
	x.update(t, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(BucketMeta)).Put([]byte("later"), wrap(BucketMeta, []byte("later"), []byte("?")))
	})
	var got told
	x.visit(t, everything(&got))
	if !slices.Equal(got.lines, x.lines()) || got.damaged != nil {
		t.Errorf("told %v, damage %v", got.lines, got.damaged)
	}
}

func TestVisitorToldOfFlagsReadsOn(t *testing.T) {
	x := newExample(t)
	// A damaged flag makes a record look like a nested bucket.
	x.update(t, func(tx *bbolt.Tx) error {
		_, err := tx.Bucket([]byte(BucketMeta)).CreateBucket([]byte("flags"))
		return err
	})
	var got told
	x.visit(t, everything(&got))
	if len(got.damaged) != 2 || !errors.Is(got.damaged[0], ErrFlags) || !errors.Is(got.damaged[1], ErrChecksum) {
		t.Errorf("damage %v", got.damaged)
	}
}

func TestHeaderOf(t *testing.T) {
	spoil := func(t *testing.T, x *example, buckets ...string) {
		x.update(t, func(tx *bbolt.Tx) error {
			for _, b := range buckets {
				if err := tx.Bucket([]byte(b)).Put([]byte(MetaArchive), []byte("x")); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, c := range []struct {
		spoiled       []string
		found, damage bool
	}{
		{nil, true, false},
		{[]string{BucketMeta}, true, true},
		{[]string{BucketSpare}, true, false},
		{[]string{BucketMeta, BucketSpare}, false, true},
	} {
		x := newExample(t)
		spoil(t, x, c.spoiled...)
		err := WithSnapshot(x.path, func(s *boltread.Snapshot) error {
			h, err := HeaderOf(s)
			if (h != nil) != c.found || (err != nil) != c.damage || h != nil && !reflect.DeepEqual(*h, x.header) {
				t.Errorf("%v spoiled: %+v, %v", c.spoiled, h, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if h, err := ReadHeader(x.path); (err == nil) != c.found || (h != nil) != c.found {
			t.Errorf("%v spoiled: ReadHeader: %+v, %v", c.spoiled, h, err)
		}
		if p, err := ReadProgress(x.path); p != exampleProgress || err != nil {
			t.Errorf("ReadProgress: %+v, %v", p, err)
		}
	}
}

func TestRecognize(t *testing.T) {
	key, value := []byte(MetaConfig), []byte("value")
	stored := wrap(BucketMeta, key, value)
	for _, c := range []struct {
		name, want string
		key        []byte
		size       int64
		stored     []byte
	}{
		{"sound", BucketMeta, key, int64(len(stored)), stored},
		{"of another bucket", BucketSpare, key, int64(len(stored)), wrap(BucketSpare, key, value)},
		{"under another key", "", []byte(MetaTotals), int64(len(stored)), stored},
		{"cut short", "", key, 3, stored[:3]},
		{"too long", "", key, MaxRecord + 1, nil},
	} {
		bucket, got, err := Recognize(c.key, c.size, func() ([]byte, error) {
			if c.stored == nil {
				t.Errorf("%s: it was read", c.name)
			}
			return c.stored, nil
		})
		if bucket != c.want || err != nil || bucket != "" && !bytes.Equal(got, value) {
			t.Errorf("%s: %q %q %v", c.name, bucket, got, err)
		}
	}
}

func TestBuilderLeavesOutLostDescriptions(t *testing.T) {
	x := newExample(t)
	d := x.descs
	var totals Totals
	x.update(t, Build(&totals, func(b *Builder) { b.Descs(100, []*metric.Desc{nil, d[0], d[1], nil, nil, d[2], nil}) }))
	var got []*metric.Desc
	v := Visitor{Descs: func(first uint32, ds []*metric.Desc) { got = Place(got, first, ds) }}
	x.visit(t, &v)
	if totals.Metrics != 107 || len(got) != 106 || got[100] != nil || *got[101] != *d[0] || *got[102] != *d[1] || got[104] != nil || *got[105] != *d[2] {
		t.Errorf("%d metrics, %d described", totals.Metrics, len(got))
	}
}

func TestBuilderFails(t *testing.T) {
	x := newExample(t)
	db, err := disk.OS.OpenBolt(x.path, 0o600, bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	totals := x.totals.Clone()
	err = db.Update(Build(&totals, func(b *Builder) {
		b.Progress(Progress{Sealed: 99})
		b.Fail(why)
		b.Fail(errors.New("another"))
		b.Chunk(x.chunks[0])
		b.Events(slices.Values(x.events))
		b.Create(&x.header)
	}))
	if err != why {
		t.Errorf("the transaction ended with %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var got told
	x.visit(t, everything(&got))
	if !slices.Equal(got.lines, x.lines()) {
		t.Errorf("what failed is there: %v", got.lines)
	}
	totals.Chunks["fast"] = 77
	if x.totals.Chunks["fast"] != 2 {
		t.Error("a clone is not apart")
	}
}

// FuzzRecord decodes hostile records whose checksums are right.
func FuzzRecord(f *testing.F) {
	x := newExample(f)
	err := WithSnapshot(x.path, func(s *boltread.Snapshot) error {
		for i, name := range Buckets {
			b, err := s.Bucket(name)
			if err != nil || name == BucketChunks {
				continue
			}
			err = b.ForEach(func(key, stored []byte) error {
				f.Add(byte(i), bytes.Clone(key), bytes.Clone(stored[:len(stored)-4]))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, bucket byte, key, value []byte) {
		name := Buckets[int(bucket)%len(Buckets)]
		var got told
		v := everything(&got)
		v.Descs = func(first uint32, ds []*metric.Desc) {
			if uint64(first)+uint64(len(ds)) > MaxMetrics {
				t.Errorf("%d descriptions from %d on", len(ds), first)
			}
		}
		v.Index = func(_ uint32, in chunk.Info) {
			if key[0] != byte(in.Class) {
				t.Errorf("class %d under the key %x", in.Class, key)
			}
		}
		if err := v.Record(name, key, value); err != nil && got.lines != nil {
			t.Errorf("told %v and %v", got.lines, err)
		}
	})
}
