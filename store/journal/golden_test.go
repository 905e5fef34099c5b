package journal

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"testing"
	"time"

	"tachograph/sample/metric"
)

var updateGolden = flag.Bool("update-golden", false, "make the golden journal of the present version")

// story appends every kind of record to w and returns what the ticks were.
func story(t *testing.T, w *Writer) (ticks []*metric.Tick, conf *Config) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(9)
	conf = &Config{Text: "[classes]\nfast = \"1s\"\n", Sync: time.Second, Seal: 5 * time.Minute}
	for cl := range metric.Class(configClasses) {
		conf.Intervals[cl] = time.Duration(cl+1) * time.Second
	}
	must(w.Describe([]*metric.Desc{{Name: "a.b", PMID: 7, Type: metric.U64, Help: "a thing", Class: metric.Fast}}))
	must(w.Config(conf))
	for i := range 40 {
		tick := m.tick(metric.Class(i % 7))
		ticks = append(ticks, copyOf(tick))
		must(w.Tick(tick))
		if i%10 == 3 {
			must(w.Event(&metric.Event{At: metric.Stamp{Wall: int64(i), Awake: 2, Cont: 3}, Kind: metric.EventGap, Text: "a gap",
				Labels: []metric.Label{{Name: "seconds", Value: "3"}}}))
		}
	}
	must(w.Config(conf))
	must(w.Flush())
	return ticks, conf
}

// TestGolden pins the bytes: every later recorder must be able to read this journal.
func TestGolden(t *testing.T) {
	const path = "testdata/v3.journal"
	f := &memFile{}
	story(t, NewWriter(f, head, nil))
	if *updateGolden {
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, f.data) {
		t.Errorf("what is written has changed: %d bytes, %d in the golden journal", len(f.data), len(golden))
	}
	for _, path := range []string{"testdata/v2.journal", path} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(path, later), func(t *testing.T) { tellsStory(t, path, later) })
		}
	}
}

// tellsStory reads a journal with what story wrote.
func tellsStory(t *testing.T, path string, later bool) {
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(golden), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.later = later
	ticks, conf := story(t, NewWriter(&memFile{}, head, nil))
	n, confs, waiting := 0, 0, 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case rec.Tick != nil:
			tick := rec.Tick
			if rec.Later != nil {
				waiting++
				tick = new(metric.Tick)
				if err := rec.Later.Decode(tick); err != nil {
					t.Fatal(err)
				}
			}
			if err := sameTick(ticks[n], tick); err != nil {
				t.Fatalf("tick %d: %v", n, err)
			}
			n++
		case rec.Conf != nil:
			confs++
			if !reflect.DeepEqual(rec.Conf, conf) {
				t.Errorf("configuration %+v, want %+v", rec.Conf, conf)
			}
		}
	}
	if n != len(ticks) || confs != 2 {
		t.Errorf("%d ticks and %d configurations", n, confs)
	}
	if later && !r.head.together && waiting != n || !later && waiting > 0 {
		t.Errorf("the rows of %d of %d ticks were left for later", waiting, n)
	}
}
