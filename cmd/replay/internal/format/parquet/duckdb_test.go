package parquet

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// exported writes all tables of a recording and returns where they are.
func exported(t testing.TB, a query.Archive) (*export.Request, string) {
	t.Helper()
	r := &export.Request{Archive: a, Tables: Format.Tables, Zone: time.UTC}
	dir := filepath.Join(t.TempDir(), "out")
	report, err := Format.Write(context.Background(), r, export.Target{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(len(exporttest.Values(t, r))); report.Values != want {
		t.Errorf("it says that it wrote %d values of %d", report.Values, want)
	}
	return r, dir
}

func ask(t testing.TB, questions ...string) (answers [][][]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(exporttest.Duck(t, questions...)))
	d.UseNumber()
	if err := d.Decode(&answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// told is what DuckDB must have of a value: its exact number where doubles do not hold it.
func told(v exporttest.Value) string {
	number, exact, text := "null", "null", "null"
	f, isF := math.NaN(), false
	switch {
	case v.Miss != metric.Present:
	case v.Type == metric.String:
		text = strings.ToValidUTF8(v.Str, "\ufffd")
	default:
		f, isF = naming.Number(v.Value), true
		if whole := v.String(); !v.Type.Float() && (math.Abs(f) > exactly || f == exactly && whole != "9007199254740992") {
			exact = whole
		}
	}
	if isF {
		number = strconv.FormatFloat(f, 'g', -1, 64)
	}
	absent := "null"
	if v.Miss != metric.Present {
		absent = v.Miss.String()
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
	return fmt.Sprintf("%q %s %q %q %d %s %s %q %q", valid(v.Host), v.Metric, valid(v.Instance), v.Key, v.Wall/1000, number, exact, text, absent)
}

// Every value that DuckDB finds is the one that was recorded, to the last digit, and nothing else
// is there: by host and day, whatever hosts are called.
func TestDuckDBReadsEqualValues(t *testing.T) {
	for _, c := range []struct {
		name    string
		archive query.Archive
	}{
		{"hard", exporttest.Hard(t, false)}, {"hostile", exporttest.Hard(t, true)}, {"mac", exporttest.Of(t, "mac.txt")}, {"fleet", exporttest.Of(t, "fleet.txt")},
		{"renamed", exporttest.Of(t, "renamed.txt")}, {"recorded", exporttest.Recorded(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, dir := exported(t, c.archive)
			files := "read_parquet('" + dir + "/values/*/*/*.parquet', hive_partitioning=true, hive_types={'host': VARCHAR, 'day': DATE})"
			answers := ask(t, "select host, metric, coalesce(instance, ''), coalesce(key, ''), epoch_us(time)::varchar, value::varchar, coalesce(u64::varchar, i64::varchar), text, reason "+
				"from "+files, "select count(*) from "+files+" where time::timestamp::date != day")
			want := make(map[string]int)
			for _, v := range exporttest.Values(t, r) {
				want[told(v)]++
			}
			for _, row := range answers[0] {
				text := func(i int) string {
					if row[i] == nil {
						return "null"
					}
					return fmt.Sprint(row[i])
				}
				number := text(5)
				if x, err := strconv.ParseFloat(number, 64); err == nil {
					number = strconv.FormatFloat(x, 'g', -1, 64)
				}
				got := fmt.Sprintf("%q %s %q %q %s %s %s %q %q", text(0), text(1), text(2), text(3), text(4), number, text(6), text(7), text(8))
				if want[got]--; want[got] == 0 {
					delete(want, got)
				} else if want[got] < 0 {
					t.Fatalf("DuckDB has what was not recorded, or has it twice: %s", got)
				}
			}
			for left := range want {
				t.Fatalf("DuckDB does not have %d values; one is %s", len(want), left)
			}
			if n := fmt.Sprint(answers[1][0][0]); n != "0" {
				t.Errorf("%s values are in the directory of another day", n)
			}
			if err := filepath.Walk(filepath.Dir(dir), func(path string, _ os.FileInfo, err error) error {
				if rel, _ := filepath.Rel(filepath.Dir(dir), path); rel != "." && !strings.HasPrefix(rel, "out") {
					t.Errorf("there is %s beside the directory", rel)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a process used is what replay top says, in every life.
func TestDuckDBReadsWhatTopSays(t *testing.T) {
	for _, name := range []string{"mac.txt", "fleet.txt", "against.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := exporttest.Of(t, name)
			_, dir := exported(t, a)
			answer := ask(t, "select host, boot, key, pid, name, coalesce(user, ''), cpu_seconds, memory_peak, memory_mean, read_bytes, write_bytes, energy_joules, epoch_us(\"from\")::varchar, "+
				"epoch_us(\"to\")::varchar from '"+dir+"/processes.parquet'")[0]
			rows := make(map[string][]any)
			for _, row := range answer {
				rows[fmt.Sprint(row[:3]...)] = row
			}
			if len(rows) != len(answer) {
				t.Errorf("%d lives in %d rows", len(rows), len(answer))
			}
			top, err := query.Top(a, query.Window{}, query.ByMemory, query.PerProcess, 0)
			if err != nil {
				if len(rows) > 0 {
					t.Errorf("top says %v, and there are %d lives", err, len(rows))
				}
				return
			}
			if len(rows) < len(top.Consumers) {
				t.Errorf("%d lives, where top knows %d processes", len(rows), len(top.Consumers))
			}
			for _, c := range top.Consumers {
				row := rows[fmt.Sprint(c.Archive.Host.Name, c.Archive.BootID, c.Instance.Key)]
				if row == nil {
					t.Errorf("no life of %s", c.Instance.Key)
					continue
				}
				known := func(x float64) string {
					if x != x {
						return "<nil>"
					}
					return strconv.FormatFloat(x, 'g', -1, 64)
				}
				whole := func(x float64) string { return known(math.Round(x)) }
				want := []string{strconv.Itoa(query.ProcessID(c.Instance)), c.Name, c.User, known(c.CPUTime()), whole(c.Peak), whole(c.Mean), whole(c.Gains[query.ReadBytes]),
					whole(c.Gains[query.WrittenBytes]), known(c.Gains[query.Energy]), strconv.FormatInt(c.From/1000, 10), strconv.FormatInt(c.To/1000, 10)}
				for i, w := range want {
					got := fmt.Sprint(row[3+i])
					if x, err := strconv.ParseFloat(got, 64); err == nil && i != 9 && i != 10 && i != 0 {
						got = known(x)
					}
					if got != w {
						t.Errorf("%s: column %d is %s, top says %s", c.Instance.Name, 3+i, got, w)
					}
				}
			}
		})
	}
}

func TestDuckDBReadsTheOtherTables(t *testing.T) {
	a := exporttest.Of(t, "fleet.txt")
	r, dir := exported(t, a)
	answers := ask(t, "select kind, text, epoch_us(time)::varchar from '"+dir+"/events.parquet'", "select metric from '"+dir+"/metrics.parquet'",
		"select archive, host_id from '"+dir+"/archives.parquet'")
	n := 0
	for e := range query.SortedEvents(a, r.Window) {
		if got, want := fmt.Sprint(answers[0][n]...), fmt.Sprint(string(e.Kind), e.Text, strconv.FormatInt(e.At.Wall/1000, 10)); got != want {
			t.Errorf("event %d is %s, want %s", n, got, want)
		}
		n++
	}
	if n != len(answers[0]) || len(a.Metrics()) != len(answers[1]) || len(a.Archives()) != len(answers[2]) {
		t.Errorf("%d events, %d metrics, %d archives; there were %d, %d, %d", len(answers[0]), len(answers[1]), len(answers[2]), n, len(a.Metrics()), len(a.Archives()))
	}
}
