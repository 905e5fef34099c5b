package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/store/query/querytest"
	"tachograph/store/storetest/proof"
)

// streamed is an answer as a client gets it.
type streamed struct {
	columns     []*tachographv1.Column
	rows        []*tachographv1.Row
	lost, notes []string
	messages    int
}

func serveQuestions(t testing.TB, run ask.Run, limits ask.Limits) tachographv1connect.QueryServiceClient {
	path, handler := ask.New(run, limits).Handler()
	if path != "/tachograph.v1.QueryService/" {
		t.Fatal(path)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return tachographv1connect.NewQueryServiceClient(server.Client(), server.URL)
}

func question(ctx context.Context, client tachographv1connect.QueryServiceClient, r *tachographv1.QueryRequest) (*streamed, error) {
	stream, err := client.Query(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	got := &streamed{}
	for stream.Receive() {
		m := stream.Msg()
		if len(m.GetColumns()) > 0 && got.messages > 0 {
			return nil, errors.New("columns in a later message")
		}
		got.messages++
		got.columns = append(got.columns, m.GetColumns()...)
		got.rows = append(got.rows, m.GetRows()...)
		got.lost, got.notes = append(got.lost, m.GetLost()...), append(got.notes, m.GetNotes()...)
	}
	return got, stream.Err()
}

// at is so long after the beginning of testdata/mac.txt.
func at(after time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).Add(after))
}

// questionsOfPrograms are all sorts of questions, with the commands that ask the
// same.
func questionsOfPrograms() map[string]*tachographv1.QueryRequest {
	number := func(n uint32) *uint32 { return &n }
	minutes := func(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: 60 * n} }
	return map[string]*tachographv1.QueryRequest{
		"rates kernel disk.all": {Question: &tachographv1.QueryRequest_Rates{Rates: &tachographv1.RatesQuestion{Metrics: []string{"kernel", "disk.all"}}}},
		"rates network.interface.in.bytes -i en0 --step 1m --units MB/s --from 2026-11-20T03:02:00Z --to 2026-11-20T03:12:00.5Z": {
			From: at(2 * time.Minute), To: at(12*time.Minute + 500*time.Millisecond),
			Question: &tachographv1.QueryRequest_Rates{Rates: &tachographv1.RatesQuestion{Metrics: []string{"network.interface.in.bytes"}, Instances: []string{"en0"}, Step: minutes(1), Units: "MB/s"}}},
		"rates '-1 * (mem.util.used / mem.physmem)'":      {Question: &tachographv1.QueryRequest_Rates{Rates: &tachographv1.RatesQuestion{Metrics: []string{"-1 * (mem.util.used / mem.physmem)"}}}},
		"values mem thermal power proc.psinfo":            {Question: &tachographv1.QueryRequest_Values{Values: &tachographv1.ValuesQuestion{Metrics: []string{"mem", "thermal", "power", "proc.psinfo"}}}},
		"values kernel --step 90s --host mbp*":            {Hosts: []string{"mbp*"}, Question: &tachographv1.QueryRequest_Values{Values: &tachographv1.ValuesQuestion{Metrics: []string{"kernel"}, Step: &durationpb.Duration{Seconds: 90}}}},
		"ranges kernel mem":                               {Question: &tachographv1.QueryRequest_Ranges{Ranges: &tachographv1.RangesQuestion{Metrics: []string{"kernel", "mem"}}}},
		"ranges kernel --rates --quick --step 5m":         {Question: &tachographv1.QueryRequest_Ranges{Ranges: &tachographv1.RangesQuestion{Metrics: []string{"kernel"}, Rates: true, Quick: true, Step: minutes(5)}}},
		"ranges mem --exact --units MB":                   {Question: &tachographv1.QueryRequest_Ranges{Ranges: &tachographv1.RangesQuestion{Metrics: []string{"mem"}, Exact: true, Units: "MB"}}},
		"ps":                                              {Question: &tachographv1.QueryRequest_Processes{}},
		"ps --at 2026-11-20T03:11:00Z --sort memory -n 2": {Question: &tachographv1.QueryRequest_Processes{Processes: &tachographv1.ProcessesQuestion{At: at(11 * time.Minute), Sort: "memory", Number: 2}}},
		"ps /./ --from 2026-11-20T03:05:00Z --step 2m":    {From: at(5 * time.Minute), Question: &tachographv1.QueryRequest_Processes{Processes: &tachographv1.ProcessesQuestion{Match: []string{"/./"}, Step: minutes(2)}}},
		"top": {Question: &tachographv1.QueryRequest_Top{}},
		"top --by memory --group name -n 3 --to 2026-11-20T03:11:00Z": {To: at(11 * time.Minute),
			Question: &tachographv1.QueryRequest_Top{Top: &tachographv1.TopQuestion{By: "memory", Group: "name", Number: number(3)}}},
		"top --by runs -n 0":      {Question: &tachographv1.QueryRequest_Top{Top: &tachographv1.TopQuestion{By: "runs", Number: number(0)}}},
		"at 2026-11-20T03:12:00Z": {Question: &tachographv1.QueryRequest_Moment{Moment: &tachographv1.MomentQuestion{At: at(12 * time.Minute)}}},
		"diff 2026-11-20T03:00:00Z..2026-11-20T03:09:00Z 2026-11-20T03:11:00Z..end --all -n 0": {From: at(11 * time.Minute),
			Question: &tachographv1.QueryRequest_Diff{Diff: &tachographv1.DiffQuestion{From: at(0), To: at(9 * time.Minute), All: true, Number: number(0)}}},
		"events":                {Question: &tachographv1.QueryRequest_Events{}},
		"events --kind proc*":   {Question: &tachographv1.QueryRequest_Events{Events: &tachographv1.EventsQuestion{Kinds: []string{"proc*"}}}},
		"events --group":        {Question: &tachographv1.QueryRequest_Events{Events: &tachographv1.EventsQuestion{Group: true}}},
		"":                      {Question: &tachographv1.QueryRequest_Overview{}},
		"summary":               {Question: &tachographv1.QueryRequest_Summary{}},
		"info":                  {Question: &tachographv1.QueryRequest_Archives{}},
		"metrics":               {Question: &tachographv1.QueryRequest_Metrics{}},
		"metrics thermal --all": {Question: &tachographv1.QueryRequest_Metrics{Metrics: &tachographv1.MetricsQuestion{Match: []string{"thermal"}, All: true}}},
		"metrics --about cpu --category kernel.all": {Question: &tachographv1.QueryRequest_Metrics{Metrics: &tachographv1.MetricsQuestion{About: "cpu", Category: "kernel.all"}}},
		"metrics kernel mem --categories":           {Question: &tachographv1.QueryRequest_Metrics{Metrics: &tachographv1.MetricsQuestion{Match: []string{"kernel", "mem"}, Categories: true}}},
		"explain kernel.all.cpu.user mem.util.used": {Question: &tachographv1.QueryRequest_Explain{Explain: &tachographv1.ExplainQuestion{Metrics: []string{"kernel.all.cpu.user", "mem.util.used"}}}},
		"why":                           {Question: &tachographv1.QueryRequest_Why{}},
		"why --at 2026-11-20T03:12:00Z": {Question: &tachographv1.QueryRequest_Why{Why: &tachographv1.WhyQuestion{At: at(12 * time.Minute)}}},
		"why --to 2026-11-20T03:05:00Z": {To: at(5 * time.Minute), Question: &tachographv1.QueryRequest_Why{}},
		"find 'kernel.all.cpu.user > 10%' --for 5s": {Question: &tachographv1.QueryRequest_Find{Find: &tachographv1.FindQuestion{Condition: "kernel.all.cpu.user > 10%", Least: &durationpb.Duration{Seconds: 5}}}},
		"find 'kernel.all.cpu.user > 1000'":         {Question: &tachographv1.QueryRequest_Find{Find: &tachographv1.FindQuestion{Condition: "kernel.all.cpu.user > 1000"}}},
	}
}

// recordedMac writes testdata/mac.txt as a recorder would have: all of it finished,
// or in an archive that is being written.
func recordedMac(t testing.TB, live bool) string {
	t.Helper()
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := beginPart(t, parts[0], dir)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if !live {
		if _, err := w.Rotate("test"); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What a program gets is what --format json prints, row by row.
func TestAnswersAreThoseOfTheCommands(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false}[:proof.Pick(t, 2, 2)] {
		dir := recordedMac(t, live)
		compareAnswers(t, fmt.Sprintf("live %v ", live), dir, questionsOfPrograms())
	}
	number, second := uint32(2), time.Unix(0, stackstest.At(time.Second).Wall).UTC()
	compareAnswers(t, "", stackstest.Write(t, stackstest.Incident()...), map[string]*tachographv1.QueryRequest{
		"stacks":                                     {Question: &tachographv1.QueryRequest_Stacks{}},
		"stacks indexer --running":                   {Question: &tachographv1.QueryRequest_Stacks{Stacks: &tachographv1.StacksQuestion{Match: []string{"indexer"}, Running: true}}},
		"stacks --waiting --top -n 2":                {Question: &tachographv1.QueryRequest_Stacks{Stacks: &tachographv1.StacksQuestion{Waiting: true, Functions: true, Number: &number}}},
		"stacks --at " + second.Format(time.RFC3339): {Question: &tachographv1.QueryRequest_Stacks{Stacks: &tachographv1.StacksQuestion{At: timestamppb.New(second)}}},
	})
}

// refused are the questions that have no answer, for the same reason as the commands.
var refused = map[string]bool{"net --medium moon": true, "net --connections --listeners": true, "deaths nobody --all": true}

// compareAnswers asks questions of the archives at path as a program and at the command
// line, and compares the answers.
func compareAnswers(t *testing.T, title, path string, questions map[string]*tachographv1.QueryRequest) {
	client := serveQuestions(t, answers([]string{path}, nil, func() time.Time { return testNow }), ask.DefaultLimits)
	for line, r := range questions {
		t.Run(title+line, func(t *testing.T) {
			args := append(words(line), "--archive", path, "--format", "json")
			stdout, _, _ := replayWith(openStore, testNow, args...)
			var stderr string
			var status int
			var got *streamed
			var err error
			// While the Writer commits, means are of other chunks, and the last of
			// their digits another one.
			for {
				before := stdout
				got, err = question(t.Context(), client, r)
				if stdout, stderr, status = replayWith(openStore, testNow, args...); stdout == before {
					break
				}
			}
			if err != nil {
				if status == 2 && strings.Contains(stderr, connectText(err)) {
					if !refused[line] {
						t.Errorf("it is refused: %v", err)
					}
					return
				}
				t.Fatalf("%v, and the command: status %d, %s", err, status, stderr)
			}
			compareRows(t, got, stdout)
		})
	}
}

// connectText is what an error says without its code.
func connectText(err error) string {
	var told *connect.Error
	if errors.As(err, &told) {
		return told.Message()
	}
	return err.Error()
}

func compareRows(t *testing.T, got *streamed, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	if want == "" {
		lines = nil
	}
	if len(lines) != len(got.rows) {
		t.Fatalf("%d rows, want %d", len(got.rows), len(lines))
	}
	for i, text := range lines {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			t.Fatal(err)
		}
		fields := 0
		for k, c := range got.rows[i].GetCells() {
			col := got.columns[k]
			of := object
			if g := col.GetGroup(); g != "" {
				of, _ = object[g].(map[string]any)
			}
			v, ok := of[col.GetName()]
			if !ok {
				t.Fatalf("row %d has no %s: %s", i, col.GetName(), text)
			}
			if why := differsFrom(c, v, object["reason"]); why != "" {
				t.Fatalf("row %d, %s: %s\n%s", i, col.GetName(), why, text)
			}
			fields++
		}
		have := 0
		for name, v := range object {
			if group, ok := v.(map[string]any); ok && name != "labels" {
				have += len(group)
			} else if name != "reason" {
				have++
			}
		}
		if have != fields {
			t.Fatalf("row %d has %d fields, want %d: %s", i, fields, have, text)
		}
	}
}

// differsFrom says how a cell is not what json has.
func differsFrom(c *tachographv1.Cell, want, reason any) string {
	switch v := c.GetValue().GetKind().(type) {
	case nil:
		if c.GetJson() != "" {
			var got any
			d := json.NewDecoder(strings.NewReader(c.GetJson()))
			d.UseNumber()
			if err := d.Decode(&got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Sprintf("json %s, want %v", c.GetJson(), want)
			}
		} else if want != nil {
			return fmt.Sprintf("nothing, want %v", want)
		}
	case *tachographv1.Value_Absent:
		if want != nil || v.Absent != reason {
			return fmt.Sprintf("absent %q, want %v, %v", v.Absent, want, reason)
		}
	case *tachographv1.Value_Text:
		if v.Text != want {
			return fmt.Sprintf("%q, want %q", v.Text, want)
		}
	case *tachographv1.Value_Integer:
		if strconv.FormatInt(v.Integer, 10) != fmt.Sprint(want) {
			return fmt.Sprintf("%d, want %v", v.Integer, want)
		}
	case *tachographv1.Value_Natural:
		if strconv.FormatUint(v.Natural, 10) != fmt.Sprint(want) {
			return fmt.Sprintf("%d, want %v", v.Natural, want)
		}
	case *tachographv1.Value_Number:
		x, err := strconv.ParseFloat(fmt.Sprint(want), 64)
		same := x == v.Number || math.IsNaN(x) && math.IsNaN(v.Number) || float64(float32(v.Number)) == v.Number && float32(x) == float32(v.Number)
		if err != nil || !same {
			return fmt.Sprintf("%v, want %v", v.Number, want)
		}
	case *tachographv1.Value_Time:
		if t, err := time.Parse(time.RFC3339Nano, fmt.Sprint(want)); err != nil || !t.Equal(v.Time.AsTime()) {
			return fmt.Sprintf("%v, want %v", v.Time.AsTime(), want)
		}
	}
	return ""
}

// Questions that have no answer say what sort of failure it is, in the words of
// the command.
func TestRefusalsOfPrograms(t *testing.T) {
	own := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", own)
	if err := os.MkdirAll(filepath.Join(own, "tachograph"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "tachograph", "derived"), []byte("secret.metric = mem.util.used\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := recordedMac(t, false)
	client := serveQuestions(t, answers([]string{dir}, nil, func() time.Time { return testNow }), ask.DefaultLimits)
	values := func(names ...string) *tachographv1.QueryRequest {
		return &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Values{Values: &tachographv1.ValuesQuestion{Metrics: names}}}
	}
	of := func(question *tachographv1.QueryRequest, from, to *timestamppb.Timestamp) *tachographv1.QueryRequest {
		return &tachographv1.QueryRequest{Question: question.GetQuestion(), From: from, To: to}
	}
	match := func(name string) *tachographv1.QueryRequest {
		return &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Processes{Processes: &tachographv1.ProcessesQuestion{Match: []string{name}}}}
	}
	var many []string
	for range 2000 {
		many = append(many, "a")
	}
	for _, c := range []struct {
		name string
		r    *tachographv1.QueryRequest
		code connect.Code
		text string
	}{
		{"no question", &tachographv1.QueryRequest{}, connect.CodeInvalidArgument, "no question"},
		{"no metric", values(), connect.CodeInvalidArgument, "needs a metric"},
		{"unknown metric", values("kernel.al"), connect.CodeInvalidArgument, "kernel.al"},
		{"a flag for a metric", values("--archive=/etc"), connect.CodeInvalidArgument, "--archive=/etc"},
		{"help for a metric", values("-h"), connect.CodeInvalidArgument, ""},
		{"the user's own metric", values("secret.metric"), connect.CodeInvalidArgument, "secret.metric"},
		{"a file for a metric", values("@/etc/passwd"), connect.CodeInvalidArgument, ""},
		{"an ending of arguments", values("--", "mem.util.used", "--derived=/etc/passwd"), connect.CodeInvalidArgument, ""},
		{"an escape", values("\x1b[2Jmem"), connect.CodeInvalidArgument, "[2Jmem"},
		{"lines", values("mem.util.used\n--archive=/etc\nmem"), connect.CodeInvalidArgument, ""},
		{"a megabyte", values(strings.Repeat("mem.", 1<<18)), connect.CodeInvalidArgument, "too long"},
		{"many", values(many...), connect.CodeInvalidArgument, "more than 1000"},
		{"a flag for a unit", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Values{Values: &tachographv1.ValuesQuestion{Metrics: []string{"mem"}, Units: "--archive=/etc"}}}, connect.CodeInvalidArgument, "--units"},
		{"a flag for a process", match("--archive=/etc"), connect.CodeNotFound, "no process --archive=/etc"},
		{"a bad pattern", match("/(/"), connect.CodeInvalidArgument, ""},
		{"no such process", match("nobody"), connect.CodeNotFound, "no process nobody"},
		{"before", of(values("mem"), at(-2*time.Hour), at(-time.Hour)), connect.CodeOutOfRange, "nothing was recorded"},
		{"until the epoch", of(values("mem"), nil, &timestamppb.Timestamp{}), connect.CodeOutOfRange, "nothing was recorded"},
		{"turned around", of(values("mem"), at(time.Hour), at(0)), connect.CodeInvalidArgument, "is after"},
		{"no time", of(values("mem"), &timestamppb.Timestamp{Seconds: math.MaxInt64}, nil), connect.CodeInvalidArgument, "from is no time"},
		{"a zone that is a file", &tachographv1.QueryRequest{Zone: "../../etc/passwd", Question: values("mem").Question}, connect.CodeInvalidArgument, "no such zone"},
		{"a host that is a flag", &tachographv1.QueryRequest{Hosts: []string{"--archive=/etc"}, Question: values("mem").Question}, connect.CodeInvalidArgument, "no host"},
		{"no step", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Ranges{Ranges: &tachographv1.RangesQuestion{Metrics: []string{"mem"}, Step: &durationpb.Duration{Seconds: -1}}}}, connect.CodeInvalidArgument, "step must be longer"},
		{"a moment without its time", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Moment{}}, connect.CodeInvalidArgument, "a moment needs its time"},
		{"a moment after the end", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Moment{Moment: &tachographv1.MomentQuestion{At: at(100 * time.Hour)}}}, connect.CodeOutOfRange, "nothing was recorded at"},
		{"a difference to nothing", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Diff{}}, connect.CodeInvalidArgument, "needs what to compare"},
		{"two differences", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Diff{Diff: &tachographv1.DiffQuestion{From: at(0), Against: "yesterday"}}}, connect.CodeInvalidArgument, "set from and to, or against"},
		{"no condition", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Find{}}, connect.CodeInvalidArgument, ""},
		{"no such order", &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Top{Top: &tachographv1.TopQuestion{By: "luck"}}}, connect.CodeInvalidArgument, "--by luck: use cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := question(t.Context(), client, c.r)
			if connect.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%v, want %v: %s", err, c.code, c.text)
			}
		})
	}
	empty := serveQuestions(t, answers([]string{t.TempDir()}, nil, time.Now), ask.DefaultLimits)
	if _, err := question(t.Context(), empty, values("mem")); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without an archive: %v", err)
	}
	file := filepath.Join(own, "tachograph", "derived")
	given := serveQuestions(t, answers([]string{dir}, []string{file}, time.Now), ask.DefaultLimits)
	if got, err := question(t.Context(), given, values("secret.metric")); err != nil || len(got.rows) == 0 {
		t.Errorf("a metric that the server was given: %v", err)
	}
}

// What is damaged is said, beside what is not.
func TestDamageIsToldToPrograms(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := recordedMac(t, false)
	files, err := filepath.Glob(filepath.Join(dir, "*.tacho"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.tacho"), []byte(strings.Repeat("no archive", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	client := serveQuestions(t, answers([]string{dir}, nil, time.Now), ask.DefaultLimits)
	got, err := question(t.Context(), client, &tachographv1.QueryRequest{Question: &tachographv1.QueryRequest_Archives{}})
	if err != nil || len(got.rows) == 0 || len(got.lost) != 1 || !strings.Contains(got.lost[0], "other.tacho") {
		t.Errorf("%v, %+v", err, got)
	}
}
