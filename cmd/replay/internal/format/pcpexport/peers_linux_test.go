package pcpexport

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pcparchive/pcptest"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store"
	"tachograph/store/query/querytest"
	"tachograph/store/rewrite"
	"tachograph/testdata/built"
)

// recorded is what the real recorder says of this machine within a few seconds.
func recorded(t testing.TB) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "archives")
	if out, err := exec.Command(built.Program(t, "recorder"), "run", "--archive", to, "--for", "5s").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// described are real archives made from a description: a Mac, or what is said.
func described(t testing.TB, path string) string {
	t.Helper()
	parts, err := querytest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exporttest.Archives(t, dir, parts)
	return dir
}

func exported(t testing.TB, dir string) (base string, r *export.Report) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "x")
	a, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r, err = Format.Write(t.Context(), &export.Request{Archive: a, Paths: []string{dir}}, export.Target{Path: base, Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return base, r
}

// A recording is what an archive of ours holds, by PCP's names.
type recording struct {
	first, last int64
	descs       map[string]*metric.Desc
	known       map[string]*pcp.Metric
	series      map[string]map[string][]point // by metric and instance
	values      int
}

type point struct {
	at int64
	v  metric.Value
}

func read(t testing.TB, dir string) *recording {
	t.Helper()
	a, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	space := spaceOf(a)
	rec := &recording{descs: make(map[string]*metric.Desc), known: make(map[string]*pcp.Metric), series: make(map[string]map[string][]point)}
	for it := range rewrite.ReadFrom(rewrite.ReadOptions{NoEvents: true, Complete: catalog.Complete}, a) {
		for _, b := range it.Tick.Blocks {
			for c, d := range b.Group.Metrics {
				m := space.Add(d)
				name := m.Name
				rec.descs[name], rec.known[name] = d, m
				if rec.series[name] == nil {
					rec.series[name] = make(map[string][]point)
				}
				for i, in := range b.Rows {
					who := ""
					if in != nil {
						who = pcptest.Who(pcp.InstanceName(pcp.Title(b.Group.Indom, in)))
					}
					if v := b.Cols[c].At(d.Type, i); v.Miss == metric.Present && m.Fits(v.Bits) {
						if t, ok := m.Type.Metric(); ok && t != v.Type {
							if v.Type = t; t == metric.U32 || t == metric.I32 {
								v.Bits = pcp.Bits(m.Type, uint32(v.Bits))
							}
						}
						v.Str = strings.Clone(v.Str)
						if d.Type == metric.U32 {
							v.Bits = uint64(uint32(v.Bits)) // a description may say more
						}
						rec.series[name][who] = append(rec.series[name][who], point{b.At.Wall, v})
						rec.values++
					}
				}
			}
			if rec.first == 0 {
				rec.first = b.At.Wall
			}
			rec.first, rec.last = min(rec.first, b.At.Wall), max(rec.last, b.At.Wall)
		}
	}
	return rec
}

// All of PCP's tools tell what was recorded, to the last digit.
func TestToolsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("records for some seconds")
	}
	pmcdtest.Need(t, "pmdumplog", "pminfo", "pmval", "pmrep", "pmlogsummary", "pmlogcheck")
	for name, make := range map[string]func(testing.TB) string{
		"this machine": recorded,
		"a Mac":        func(t testing.TB) string { return described(t, "../../../testdata/mac.txt") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := make(t)
			base, report := exported(t, dir)
			rec := read(t, dir)
			if int(report.Values-report.Absent) != rec.values || len(report.Notes)+len(report.Losses) > 0 {
				t.Errorf("%+v, of %d values", report, rec.values)
			}
			pcptest.Checked(t, base)
			rec.dumplog(t, base)
			rec.info(t, base)
			rec.rep(t, base)
			rec.summary(t, base)
			rec.val(t, base)
		})
	}
}

func (rec *recording) dumplog(t *testing.T, base string) {
	t.Helper()
	told, wrong := 0, 0
	next := make(map[string]int)
	for _, v := range pcptest.Values(t, base, metric.Stamp{Wall: rec.first}.Time()).Values {
		if strings.HasPrefix(v.Metric, "tachograph.") && rec.descs[v.Metric] == nil {
			continue
		}
		told++
		key := v.Metric + "\x00" + v.Who()
		list, n := rec.series[v.Metric][v.Who()], next[key]
		next[key]++
		if n >= len(list) || list[n].at != v.At.UnixNano() || !pcptest.Same(list[n].v.Type, list[n].v, v.Text) {
			if wrong++; wrong < 10 {
				t.Errorf("pmdumplog has %v of %s[%s] at %v; recorded was %v", v.Text, v.Metric, v.Instance, v.At, list[min(n, len(list)):min(n+1, len(list))])
			}
		}
	}
	if told != rec.values || wrong > 0 {
		t.Errorf("pmdumplog tells %d values of %d, of which %d are others", told, rec.values, wrong)
	}
}

var infoHead = regexp.MustCompile(`(?m)^(\S+) PMID: (\S+) ?(?:\[(.*)\])?$`)

// info holds what pminfo says of metrics: numbers, types, units, help, labels and the
// values that were there first.
func (rec *recording) info(t *testing.T, base string) {
	t.Helper()
	var names []string
	for name := range rec.descs {
		names = append(names, name)
	}
	slices.Sort(names)
	text := pcptest.Run(t, "pminfo", append([]string{"-a", base, "-d", "-m", "-t", "-T", "-l"}, names...)...)
	seen := 0
	at := infoHead.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, number, line, rest := text[m[2]:m[3]], text[m[4]:m[5]], "", text[m[1]:end]
		if m[6] >= 0 {
			line = text[m[6]:m[7]]
		}
		d := rec.descs[name]
		if d == nil {
			t.Errorf("pminfo knows %s", name)
			continue
		}
		seen++
		plain := d.Units
		if n, whole := pcp.UnitsOf(plain); !whole || n&0xff != 0 {
			plain.Other = ""
		}
		units := plain.String()
		if units == "" {
			units = "none"
		}
		known := rec.known[name]
		if n, _ := pcp.UnitsOf(d.Units); n != known.Units {
			units = "" // PCP's own agents have others
		}
		is, _ := known.Type.Metric()
		sem, _ := pcp.Semantics(known.Semantics)
		typ := map[metric.Type]string{metric.I32: "32-bit int", metric.U32: "32-bit unsigned int", metric.I64: "64-bit int", metric.U64: "64-bit unsigned int", metric.F32: "float", metric.F64: "double", metric.String: "string"}[is]
		for _, want := range []string{"Data Type: " + typ + " ", "Semantics: " + sem.String() + "  Units: " + units, `"class":"` + d.Class.String() + `"`, d.LongHelp} {
			if !strings.Contains(rest, want) {
				t.Errorf("pminfo does not say %q of %s:\n%s", want, name, rest)
			}
		}
		if line != d.Help && d.Help != "" {
			t.Errorf("the help of %s is %q, want %q", name, line, d.Help)
		}
		if d.PMID != 0 && number != d.PMID.String() && !strings.Contains(rest, fmt.Sprintf(`"pmid":"%d"`, uint32(d.PMID))) {
			t.Errorf("%s is %s, want %v", name, number, d.PMID)
		}
		if (d.Indom == metric.NoIndom) != strings.Contains(rest, "InDom: PM_INDOM_NULL") {
			t.Errorf("the instances of %s are not those of %q", name, d.Indom)
		}
	}
	if seen != len(rec.descs) {
		t.Errorf("pminfo tells of %d metrics, of %d", seen, len(rec.descs))
	}
}

// rep holds the table that pmrep makes of all numbers at their times.
func (rec *recording) rep(t *testing.T, base string) {
	t.Helper()
	var names []string
	for name, d := range rec.descs {
		if d.Type != metric.String && len(rec.series[name]) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	told, wrong := 0, 0
	for part := range slices.Chunk(names, 200) {
		out := pcptest.Run(t, "pmrep", append([]string{"-a", base, "-u", "-r", "-o", "csv", "-P", "15", "-E", "0", "-f", "%s.%f"}, part...)...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Fatalf("pmrep: %v\n%.1000s", err, out)
		}
		for c, head := range rows[0][1:] {
			name, who, _ := strings.Cut(head, "-")
			list := rec.series[name][pcptest.Who(who)]
			for _, row := range rows[1:] {
				if row[c+1] == "" || len(list) == 0 {
					continue
				}
				told++
				// It prints microseconds; a value stays until the next one.
				at, _ := strconv.ParseInt(strings.Replace(row[0], ".", "", 1), 10, 64)
				i, _ := slices.BinarySearchFunc(list, at, func(p point, at int64) int { return cmp.Compare(p.at/1000, at+1) })
				i--
				// Of several records of one time the first shows what was before.
				before := i > 0 && list[i].at/1000 == at && repSame(list[i-1].v, row[c+1])
				if i < 0 || !before && !repSame(list[i].v, row[c+1]) {
					if wrong++; wrong < 10 {
						t.Errorf("pmrep has %s of %s at %s, which was not recorded", row[c+1], head, row[0])
					}
				}
			}
		}
	}
	if wrong > 0 || told < rec.values/10 {
		t.Errorf("pmrep tells %d values, %d of them others", told, wrong)
	}
}

// repSame reports whether pmrep prints a value so: with 15 digits behind the point, and
// integers that have no double as the nearest one.
func repSame(v metric.Value, text string) bool {
	got, err := strconv.ParseFloat(text, 64)
	if !v.Type.Float() && math.Abs(v.Number()) < 1<<53 {
		return v.String() == text
	}
	return err == nil && math.Abs(got-v.Number()) <= 1e-14*max(1, math.Abs(v.Number()))
}

// summary holds the least, the greatest and the number of the values of each gauge.
func (rec *recording) summary(t *testing.T, base string) {
	t.Helper()
	out := pcptest.Run(t, "pmlogsummary", "-F", "-m", "-M", "-y", "-p", "6", base)
	rows := csv.NewReader(strings.NewReader(out))
	rows.LazyQuotes, rows.FieldsPerRecord = true, -1
	all, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// Of a number that two processes had there are two rows.
	type sum struct {
		least, most float64
		count       int
	}
	sums := make(map[[2]string]*sum)
	for _, row := range all {
		if len(row) < 7 {
			continue
		}
		name, who := row[0], strings.TrimSuffix(strings.TrimPrefix(row[1], `["`), `"]`)
		if d := rec.descs[name]; d == nil || d.Sem == metric.Counter {
			continue
		}
		n := len(row)
		least, err1 := strconv.ParseFloat(row[n-4], 64)
		most, err2 := strconv.ParseFloat(row[n-3], 64)
		count, err3 := strconv.Atoi(row[n-2])
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("pmlogsummary says %q", row)
		}
		key := [2]string{name, pcptest.Who(who)}
		if sums[key] == nil {
			sums[key] = &sum{least, most, 0}
		}
		s := sums[key]
		s.least, s.most, s.count = min(s.least, least), max(s.most, most), s.count+count
	}
	told := 0
	for key, s := range sums {
		list := rec.series[key[0]][key[1]]
		if len(list) == 0 {
			continue
		}
		least, most := math.Inf(1), math.Inf(-1)
		for _, p := range list {
			least, most = min(least, p.v.Number()), max(most, p.v.Number())
		}
		told++
		if got, want := fmt.Sprintf("%.6f %.6f %d", s.least, s.most, s.count), fmt.Sprintf("%.6f %.6f %d", least, most, len(list)); got != want {
			t.Errorf("pmlogsummary has %s of %s[%s], recorded was %s", got, key[0], key[1], want)
		}
	}
	if told < 10 {
		t.Errorf("pmlogsummary tells of %d series:\n%.2000s", told, out)
	}
}

// val holds what pmval prints of some metrics, value by value.
func (rec *recording) val(t *testing.T, base string) {
	t.Helper()
	var names []string
	for name, d := range rec.descs {
		if d.Indom == metric.NoIndom && !d.Type.Float() && d.Type != metric.String && len(rec.series[name][""]) > 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i := 0; i < len(names); i += max(1, len(names)/12) {
		var got, want []string
		_, body, _ := strings.Cut(pcptest.Run(t, "pmval", "-r", "-U", base, "-w", "24", names[i]), "samples:   all\n")
		for _, line := range strings.Split(body, "\n") {
			if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], ":") {
				got = append(got, f[1])
			}
		}
		for _, p := range rec.series[names[i]][""] {
			want = append(want, p.v.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("pmval of %s has %v, recorded was %v", names[i], got, want)
		}
	}
}

// What is exported of this machine is merged by PCP itself with what PCP has recorded of
// it: no name has two numbers, and no number two types, instance domains or units.
func TestMergesWithPCPsOwn(t *testing.T) {
	pmcdtest.Need(t, "pmlogger", "pmlogextract", "pminfo")
	t.Parallel()
	dir := recorded(t)
	base, _ := exported(t, dir)
	at := filepath.Dir(base)
	var names []string
	rec := read(t, dir)
	for _, name := range slices.Sorted(maps.Keys(rec.descs)) {
		if !metric.PerBoot(rec.descs[name].Indom) && strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	// PCP's agents are asked without pmcd; who may not is told so by none of them.
	out, _ := exec.Command("pminfo", append([]string{"-L", "-d"}, names...)...).Output()
	var native []string
	for _, m := range regexp.MustCompile(`(?m)^(\S+)$\n\s+Data Type`).FindAllStringSubmatch(string(out), -1) {
		native = append(native, m[1])
	}
	if len(native) < 100 {
		t.Skipf("PCP's agents for Linux know %d of our names here", len(native))
	}
	config := filepath.Join(at, "config")
	if err := os.WriteFile(config, []byte("log mandatory on 1 sec { "+strings.Join(native, " ")+" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("pmlogger", "-o", "-c", config, "-l", filepath.Join(at, "log"), "-s", "2", filepath.Join(at, "native")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("pmlogextract", base, filepath.Join(at, "native"), filepath.Join(at, "merged")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, regexp.MustCompile(`(?m)^.*Error.*$`).FindAllString(string(out), 5))
	}
	merged, err := exec.Command("pminfo", "-m", "-d", "-a", filepath.Join(at, "merged"), "kernel.all.load").Output()
	if err != nil || !strings.Contains(string(merged), "60.2.0") {
		t.Errorf("%v: %s", err, merged)
	}
}
