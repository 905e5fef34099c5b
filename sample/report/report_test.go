package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain makes times that state no zone the same everywhere.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// fixtures returns the reports in testdata by their names.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join("testdata", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = b
	}
	if len(all) < 20 {
		t.Fatalf("%d reports", len(all))
	}
	return all
}

func facts(t testing.TB, r *Report) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// TestFacts compares the facts of each report with a golden file. Each is read in one piece and byte
// by byte.
func TestFacts(t *testing.T) {
	for name, text := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(bytes.NewReader(text), name)
			if err != nil {
				t.Fatal(err)
			}
			got := facts(t, r)
			golden := filepath.Join("testdata", "facts", name+".json")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			r, err = Parse(iotest.OneByteReader(bytes.NewReader(text)), name)
			if err != nil || facts(t, r) != got {
				t.Errorf("byte by byte: %v\n%s", err, facts(t, r))
			}
		})
	}
}

// TestNamesAreHints reads the reports under another name. Only texts that do not say what they are
// need theirs.
func TestNamesAreHints(t *testing.T) {
	for name, text := range fixtures(t) {
		r, err := Parse(bytes.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Parse(bytes.NewReader(text), "something.ips")
		switch {
		case strings.HasSuffix(name, ".shutdownStall") || strings.HasPrefix(name, "Sleep"):
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case facts(t, other) != facts(t, r):
			t.Errorf("%s: got\n%s", name, facts(t, other))
		}
	}
}

// TestCutAnywhere cuts reports at every byte: what is there is returned, and a report in JSON is
// never taken for a complete one.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"crash-27.ips", "jetsam-27.ips", "fault-15.ips"} {
		whole := bytes.TrimSpace(fixtures(t)[name])
		for n := range len(whole) {
			r, err := Parse(bytes.NewReader(whole[:n]), name)
			if !errors.Is(err, ErrIncomplete) || r != nil && !r.Incomplete {
				t.Fatalf("%s, %d bytes: %v, %v", name, n, r, err)
			}
		}
	}
	for name, whole := range fixtures(t) {
		for n := 0; n < len(whole); n += 7 {
			if r, err := Parse(bytes.NewReader(whole[:n]), name); r == nil && err == nil {
				t.Fatalf("%s, %d bytes: neither a report nor an error", name, n)
			}
		}
	}
}

// counting counts what is read of a file.
type counting struct {
	io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// repeated returns a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[r.at%len(r.text)]
		r.at++
	}
	return len(b), nil
}

func TestBounds(t *testing.T) {
	const crash = `{"bug_type":"309","incident_id":"X"}` + "\n"
	for _, c := range []struct {
		name, start string
		rest        string
		most        int
		want        error
	}{
		{"no end", crash + `{"pid":5,"x":[`, "1,", largestReport, ErrTooLarge},
		{"deep", crash + `{"pid":5,"x":`, "[", largestReport, ErrTooLarge},
		{"deep objects", crash + `{"pid":5,"x":`, `{"a":`, largestReport, ErrTooLarge},
		{"a long text", crash + `{"pid":5,"procName":"`, "a", largestReport, ErrTooLarge},
		{"a long key", crash + `{"pid":5,"`, "k", largestReport, ErrTooLarge},
		{"a long number", crash + `{"pid":5,"procStartAbsTime":1`, "0", largestReport, ErrTooLarge},
		{"many threads", crash + `{"pid":5,"threads":[`, `{"frames":[{"imageIndex":1}]},`, largestReport, ErrTooLarge},
		{"many frames", crash + `{"pid":5,"threads":[{"triggered":true,"frames":[`, `{"imageIndex":1,"symbol":"s"},`, largestReport, ErrTooLarge},
		{"many images", crash + `{"pid":5,"usedImages":[`, `{"path":"/a"},`, largestReport, ErrTooLarge},
		{"many processes", `{"bug_type":"298"}{"processes":[`, `{"pid":1,"name":"n","rpages":7,"reason":"idle-exit"},`, largestReport, ErrTooLarge},
		{"a panic", `{"bug_type":"210"}{"panicString":"panic(`, "x", largestPanic, ErrTooLarge},
		{"a panic whose message comes late", `{"bug_type":"210"}{"x":[`, "1,", largestPanic, ErrTooLarge},
		{"spaces", "", " ", largestReport, ErrTooLarge},
		{"stacks of threads", "Event: hang\nPID: 5\n", "Thread 1\n", largestText + bufferSize, nil},
		{"stacks before the one that crashed", "Process: a [5]\nCrashed Thread: 9\n", "0 x 0x1 y\n", largestStacks + bufferSize, nil},
		{"one line", "Event: hang\nPID: 5\nVersion: ", "a", largestReport, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := &counting{Reader: io.MultiReader(strings.NewReader(c.start), &repeated{text: c.rest})}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := Parse(file, "")
			runtime.ReadMemStats(&after)
			if !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			if file.n > c.most {
				t.Errorf("%d bytes were read", file.n)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 2*largestReport {
				t.Errorf("%d bytes were allocated", allocated)
			}
			if c.start != "" && len(facts(t, r)) > 40<<10 {
				t.Errorf("a report of %d bytes", len(facts(t, r)))
			}
		})
	}
}

// TestMuchCanBeLeftUnread reads a panic of megabytes, of which only the message is wanted.
func TestMuchCanBeLeftUnread(t *testing.T) {
	for _, c := range []struct {
		start string
		most  int
	}{
		{`{"bug_type":"210","os_version":"macOS 26.2 (25C56)"}{"panicString":"panic(cpu 0 caller 0x1): text\n","processByPid":{`, bufferSize},
		{`{"bug_type":"288"}{"processByPid":{`, bufferSize},
		{`{"bug_type":"211"}{"a":{`, bufferSize},
	} {
		file := &counting{Reader: io.MultiReader(strings.NewReader(c.start), io.LimitReader(&repeated{text: `"1":{},`}, 5<<20))}
		if r, err := Parse(file, ""); err != nil || r.Incomplete || file.n > c.most {
			t.Errorf("%s: %v, %v, %d bytes", c.start, r, err, file.n)
		}
	}
}

func TestHostile(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"nothing", ""},
		{"null", "null"},
		{"rubbish", "\x00\xff\xfe\x7f\x1b[31m"},
		{"zeros", strings.Repeat("\x00", 4096)},
		{"a program", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01\n\n:\n"},
		{"an array", `[{"bug_type":"309"}]`},
		{"another object", `{"a":1}`},
		{"a kind that is an object", `{"bug_type":{"a":"309"}}` + "\n{}"},
		{"no colon", `{"bug_type" "309"}`},
		{"text", "Hello: world\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := Parse(strings.NewReader(c.text), "x.ips"); r != nil || err == nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	read := errors.New("the disk is broken")
	if _, err := Parse(iotest.ErrReader(read), ""); !errors.Is(err, read) {
		t.Errorf("%v", err)
	}
}

func TestTextsOfStrangers(t *testing.T) {
	long := strings.Repeat("é", 5000)
	r, err := Parse(strings.NewReader(`{"bug_type":"309","name":"no"}{"procName":"\u001b]0;title\u0007a\nb\u009b2J","procPath":"/x/`+long+`","bundleInfo":{"CFBundleIdentifier":"\ud83d\ude00\ud83d"},`+
		`"coalitionName":5,"parentProc":["x"],"pid":-7,"parentPid":99999999999,"responsiblePid":"12","procStartAbsTime":1e3,"procExitAbsTime":"0x10","coalitionID":1e30,"termination":{"code":null}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	q := &r.Process
	if q.Name != "?]0;title?a b?2J" || len(q.Path) > longestText || !strings.HasSuffix(q.Path, "é…") || q.Bundle != "😀" {
		t.Errorf("%q, %q, %q", q.Name, q.Path, q.Bundle)
	}
	if q.CoalitionName != "5" || q.Parent != "" || q.PID != 0 || q.ParentPID != 0 || q.ResponsiblePID != 12 || q.StartTicks != 1000 || q.ExitTicks != 16 || q.Coalition != 1<<64-1 {
		t.Errorf("%+v", q)
	}
}

// TestWhereTheFramesAre moves what the stacks need to other places of the report.
func TestWhereTheFramesAre(t *testing.T) {
	const images = `"usedImages":[{"path":"/usr/lib/x"},{"path":"/opt/a"}]`
	thread := func(symbol, more string) string {
		return `{"frames":[{"imageIndex":0,"symbol":"s"},{"imageIndex":1,"symbol":"` + symbol + `","symbolLocation":3},{"imageIndex":7}]` + more + `}`
	}
	for _, c := range []struct{ body, want string }{
		{`"faultingThread":1,"threads":[` + thread("no", "") + `,` + thread("yes", "") + `],` + images, "a yes 3"},
		{images + `,"threads":[` + thread("no", "") + `,` + thread("yes", `,"triggered":true`) + `]`, "a yes 3"},
		{`"threads":[` + thread("yes", "") + `],` + images, "a yes 3"},
		{`"faultingThread":1,"threads":[` + thread("no", "") + `],` + images, ""},
		{`"faultingThread":0,"threads":[` + thread("no", "") + `],"lastExceptionBacktrace":[{"imageIndex":1,"imageOffset":9}],` + images, "a  9"},
		{`"procPath":"/usr/lib/x","threads":[` + thread("no", "") + `],` + images, "x s 0a no 3"},
	} {
		r, err := Parse(strings.NewReader(`{"bug_type":"309"}{"pid":1,`+c.body+`}`), "")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range r.Frames {
			got += fmt.Sprintf("%s %s %d", f.Image, f.Symbol, f.Offset)
		}
		if got != c.want {
			t.Errorf("%s: %q", c.body, got)
		}
	}
}

func TestOneObject(t *testing.T) {
	r, err := Parse(strings.NewReader(`{"bug_type":"309","pid":5,"procName":"a"}`), "")
	if err != nil || r.Process.PID != 5 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestJetsamKeepsTheUrgentOnes(t *testing.T) {
	var j Jetsam
	for i := range 200 {
		reason := "idle-exit"
		if i >= 150 {
			reason = "low-swap"
		}
		j.add(Killed{Resident: Resident{PID: int32(i), Bytes: uint64(i * 7919 % 1000)}, Reason: reason})
	}
	urgent := 0
	for _, k := range j.Killed {
		if !k.Housekeeping {
			urgent++
		}
	}
	if j.KilledCount != 200 || len(j.Killed) != mostKilled || urgent != 50 || !j.Urgent() || len(j.Top) != largestShown {
		t.Errorf("%d of %d, %d urgent", len(j.Killed), j.KilledCount, urgent)
	}
	for i := 1; i < len(j.Top); i++ {
		if j.Top[i].Bytes > j.Top[i-1].Bytes {
			t.Errorf("%v", j.Top)
		}
	}
}

func TestSizesAreBounded(t *testing.T) {
	if got := product(1<<40, 16384); got != 1<<54 {
		t.Error(got)
	}
	if got := product(1<<60, 16384); got != 1<<64-1 {
		t.Error(got)
	}
	for s, want := range map[string]time.Duration{"": 0, "NaN": 0, "-1": 0, "1e300": 1<<63 - 1, "28.00s": 28 * time.Second} {
		if got := seconds(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
	for s, want := range map[string]float64{"NaN": 0, "inf": 0, "1e300": 0, "": 0, "50% cpu": 0.5, "24.86 KB per second": 24860, "90s": 90, "2.5 GB": 2.5e9} {
		if got := amount(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestOldTimes(t *testing.T) {
	want := time.Date(2021, 5, 3, 10, 33, 24, 0, time.Local)
	if got := parseTime("Mon May  3 10:33:24 2021"); !got.Equal(want) {
		t.Error(got)
	}
}

// large returns a crash report of 300 KB: many threads, 2,000 images.
func large() []byte {
	var b bytes.Buffer
	b.WriteString(`{"app_name":"Editor","timestamp":"2026-02-03 15:57:47.00 -0300","bug_type":"309","os_version":"macOS 26.2 (25C56)","incident_id":"A"}` + "\n")
	b.WriteString(`{"captureTime" : "2026-02-03 15:57:46.2290 -0300","pid" : 5,"procName" : "Editor","procPath" : "\/Applications\/Editor.app\/Contents\/MacOS\/Editor",` +
		`"exception" : {"type":"EXC_CRASH","signal":"SIGABRT"},"faultingThread" : 3,"threads" : [`)
	for thread := range 50 {
		if thread > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"threadState":{"x":[{"value":0},{"value":18446744073709551615}],"flavor":"ARM_THREAD_STATE64"},"frames":[`, thread)
		for frame := range 25 {
			if frame > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"imageOffset":%d,"symbol":"-[Document writeBlock%d:]","symbolLocation":%d,"imageIndex":%d}`, frame*1000, frame, frame, frame%5)
		}
		b.WriteString("]}")
	}
	b.WriteString(`],"usedImages" : [`)
	for i := range 2000 {
		if i > 0 {
			b.WriteByte(',')
		}
		dir := `\/System\/Library\/`
		if i == 3 {
			dir = `\/Applications\/Editor.app\/`
		}
		fmt.Fprintf(&b, `{"base":%d,"size":16384,"path":"%s%d.framework","name":"F%d"}`, i<<14, dir, i, i)
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

func BenchmarkCrash(b *testing.B) {
	text := large()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Parse(bytes.NewReader(text), "")
		if err != nil || len(r.Frames) != 5 {
			b.Fatal(err, len(r.Frames))
		}
	}
}

func checkAnything(t *testing.T, text []byte, name string) {
	r, err := Parse(bytes.NewReader(text), name)
	if (r == nil) == (err == nil) && (r == nil || !r.Incomplete) {
		t.Fatalf("%v, %v", r, err)
	}
	if r == nil {
		return
	}
	shown := facts(t, r)
	if strings.Contains(shown, `\u001b`) || len(shown) > 1<<20 || len(r.Frames) > returned {
		t.Fatalf("%s", shown)
	}
}

func FuzzReport(f *testing.F) {
	for _, text := range fixtures(f) {
		if bytes.HasPrefix(text, []byte("{")) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkAnything(t, text, "a.ips") })
}

func FuzzText(f *testing.F) {
	for name, text := range fixtures(f) {
		if !bytes.HasPrefix(text, []byte("{")) {
			f.Add(text, name)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) { checkAnything(t, text, name) })
}
