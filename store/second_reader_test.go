package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/recording"
	"tachograph/store/reduce"
	"tachograph/store/rewrite"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// archivesVariable names an environment variable with more archives to check,
// separated like the directories of PATH.
const archivesVariable = "TACHO_CHECK_ARCHIVES"

// TestSecondReader has archives read by testdata/tacho_reader.py, which was
// written from FORMAT.md alone, and expects the values, events and descriptions
// that this package reads. Where they differ FORMAT.md is wrong, or the code.
func TestSecondReader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is another program that works here")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	if exec.Command("python3", "-c", "import zstandard").Run() != nil {
		if _, err := exec.LookPath("zstd"); err != nil {
			t.Skip("zstd is not installed, nor Python's zstandard")
		}
	}
	paths, err := filepath.Glob("testdata/v*" + layout.FinishedSuffix)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives: %v", err)
	}
	if more := os.Getenv(archivesVariable); more != "" {
		paths = append(paths, filepath.SplitList(more)...)
	}
	whole := written(t)
	parts := []string{cut(t, whole), cut(t, writtenIn(t, "another boot"))}
	for _, p := range append(paths, whole, digested(t), bundled(t, parts), parts[0], reduced(t, whole)) {
		t.Run(filepath.Base(p), func(t *testing.T) {
			t.Parallel()
			s := &second{t: t, path: p, metrics: make(map[int]string), floats: make(map[int]bool), told: make(map[string][][]byte)}
			s.read()
			if found := bytes.Join(s.told["check"], nil); strings.Contains(p, "digested") && !bytes.Contains(found, []byte(`"crowds"`)) {
				t.Fatalf("there is no digest: %s", found)
			}
			t.Logf("checked: %s", bytes.Join(s.told["check"], nil))
			s.compare("metrics", s.theirMetrics(), s.ourMetrics())
			s.compare("values", s.theirValues(), s.ourValues())
			s.compare("events", s.theirEvents(), s.ourEvents())
		})
	}
}

// bundled is a bundle of archives.
func bundled(t *testing.T, paths []string) string {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "bundled"+layout.FinishedSuffix)
	if report, err := rewrite.Copy(bundle, rewrite.CopyOptions{}, paths...); err != nil || len(report.Archives) != len(paths) {
		t.Fatal(report, err)
	}
	return bundle
}

// cut is a part of an archive.
func cut(t *testing.T, path string) string {
	t.Helper()
	a, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	part := filepath.Join(t.TempDir(), "cut"+layout.FinishedSuffix)
	third := (a.Info.To - a.Info.From) / 3
	opt := rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: a.Info.From + third, To: a.Info.To - third}}
	if _, err := rewrite.Copy(part, opt, path); err != nil {
		t.Fatal(err)
	}
	return part
}

// reduced is an archive of steps.
func reduced(t *testing.T, path string) string {
	t.Helper()
	a, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	steps := filepath.Join(t.TempDir(), "reduced"+layout.FinishedSuffix)
	if err := reduce.Archive(t.Context(), steps, []*archive.File{a}, reduce.Options{Step: time.Minute}); err != nil {
		t.Fatal(err)
	}
	return steps
}

// written is a finished archive that the Writer made.
func written(t *testing.T) string {
	t.Helper()
	return writtenIn(t, "boot")
}

func writtenIn(t *testing.T, boot string) string {
	t.Helper()
	l := storetest.NewLoad(12, 6, 5, 40)
	clock := proof.NewClock(metric.Stamp{})
	w, err := recording.Create(recording.Options{Dir: t.TempDir(), Host: metric.Host{ID: "id", Name: "second"}, BootID: boot, Catalog: l.Catalog(),
		Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 600 {
		at, ticks := l.Next()
		clock.Set(at)
		for _, tick := range ticks {
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	return rotated(t, w)
}

// rotated ends what w records, and returns the finished archive.
func rotated(t *testing.T, w *recording.Writer) string {
	t.Helper()
	path, err := w.Rotate("a test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, path)
	return path
}

// digested is a finished archive of processes that come and go.
func digested(t *testing.T) string {
	t.Helper()
	c := storetest.NewCrowd(3, true, false)
	clock := proof.NewClock(c.At)
	w, err := recording.Create(recording.Options{Dir: t.TempDir(), Host: metric.Host{ID: "id", Name: "digested"}, BootID: "boot",
		Catalog: c.Group.Metrics, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range proof.Pick(t, 320, 450) {
		tick := c.Tick()
		clock.Set(tick.At)
		if err := w.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	return rotated(t, w)
}

// second compares two readings of one archive.
type second struct {
	t       *testing.T
	path    string
	metrics map[int]string // names by number
	floats  map[int]bool
	told    map[string][][]byte // the lines of the other reader, by what they are about
}

func (s *second) compare(what string, theirs, ours []string) {
	s.t.Helper()
	slices.Sort(theirs)
	slices.Sort(ours)
	if slices.Equal(theirs, ours) {
		s.t.Logf("%d %s agree", len(ours), what)
		return
	}
	for i := range max(len(theirs), len(ours)) {
		a, b := "nothing", "nothing"
		if i < len(theirs) {
			a = theirs[i]
		}
		if i < len(ours) {
			b = ours[i]
		}
		if a != b {
			s.t.Fatalf("%d %s, %d here; the first that differ:\n%s\n%s", len(theirs), what, len(ours), a, b)
		}
	}
}

// read runs the reader, which checks the archive and tells all of it.
func (s *second) read() {
	s.t.Helper()
	cmd := exec.Command("python3", "testdata/tacho_reader.py", "all", s.path)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, complaint.Bytes())
	}
	what := ""
	for line := range bytes.Lines(out) {
		if title, ok := bytes.CutPrefix(line, []byte("== ")); ok {
			what = string(bytes.TrimSpace(title))
			continue
		}
		s.told[what] = append(s.told[what], line)
	}
}

// lines decodes what the reader told.
func (s *second) lines(what string, take func(*json.Decoder) error) {
	s.t.Helper()
	for _, line := range s.told[what] {
		// Python has words for numbers that JSON has none for.
		line = notNumbers.ReplaceAll(line, []byte(`, "$1",`))
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := take(dec); err != nil {
			s.t.Fatalf("%v in %s", err, line)
		}
	}
}

var notNumbers = regexp.MustCompile(`, (NaN|-?Infinity),`)

// plain makes texts that are not UTF-8 comparable.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\uFFFD", "")
}

func (s *second) theirMetrics() []string {
	latest := make(map[string]string) // a description that changed has a new number
	s.lines("metrics", func(d *json.Decoder) error {
		var m struct {
			Number                   int
			Metric, Help, Indom      string
			Pmid                     uint32
			Type, Semantics, Clamped int
			Width                    int
		}
		err := d.Decode(&m)
		if err == nil {
			s.metrics[m.Number], s.floats[m.Number] = m.Metric, metric.Type(m.Type).Float()
			latest[m.Metric] = fmt.Sprint(m.Metric, " ", m.Pmid, m.Type, m.Semantics, m.Indom, m.Width, m.Clamped, plain(m.Help))
		}
		return err
	})
	return slices.Collect(maps.Values(latest))
}

func (s *second) reader() *store.Reader {
	s.t.Helper()
	r, err := store.Open(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Close() })
	return r
}

func (s *second) ourMetrics() (out []string) {
	for _, d := range s.reader().Metrics() {
		clamped := 0
		if d.Clamped {
			clamped = 1
		}
		out = append(out, fmt.Sprint(d.Name, " ", uint32(d.PMID), int(d.Type), int(d.Sem), d.Indom, d.Width, clamped, plain(d.Help)))
	}
	return out
}

func (s *second) theirValues() (out []string) {
	s.lines("values", func(d *json.Decoder) error {
		var row []any
		if err := d.Decode(&row); err != nil {
			return err
		}
		number, err := row[1].(json.Number).Int64()
		if err != nil {
			return err
		}
		value := fmt.Sprint(row[4])
		if reason := fmt.Sprint(row[6]); reason != "" {
			value = "absent: " + reason
		} else if s.floats[int(number)] {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			value = fmt.Sprint(f)
		}
		out = append(out, fmt.Sprint(s.metrics[int(number)], " ", row[0], " ", plain(fmt.Sprint(row[2])), " ", plain(value)))
		return nil
	})
	return out
}

func (s *second) ourValues() (out []string) {
	for run := range s.reader().Select(store.Selection{}) {
		key := ""
		if run.Instance != nil {
			key = plain(run.Instance.Key)
		}
		for i, wall := range run.Wall {
			v := run.At(i)
			value := v.String()
			switch {
			case v.Miss != metric.Present:
				value = "absent: " + v.Miss.String()
			case v.Type.Float():
				value = fmt.Sprint(v.Number())
			}
			out = append(out, fmt.Sprint(run.Metric.Name, " ", wall, " ", key, " ", plain(value)))
		}
	}
	return out
}

func (s *second) theirEvents() (out []string) {
	s.lines("events", func(d *json.Decoder) error {
		var e struct {
			Wall, Cont, Awake      int64
			Kind, Text, Indom, Key string
			Labels                 map[string]string
		}
		err := d.Decode(&e)
		if err == nil {
			out = append(out, fmt.Sprint(e.Wall, e.Cont, e.Awake, e.Kind, plain(e.Text), e.Indom, plain(e.Key), len(e.Labels)))
		}
		return err
	})
	return out
}

func (s *second) ourEvents() (out []string) {
	for e := range s.reader().Events(0, 0) {
		labels := make(map[string]bool)
		for _, l := range e.Labels {
			labels[plain(l.Name)] = true
		}
		out = append(out, fmt.Sprint(e.At.Wall, e.At.Cont, e.At.Awake, string(e.Kind), plain(e.Text), e.Indom, plain(e.Key), len(labels)))
	}
	return out
}
