package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
	"tachograph/store/storetest/proof"
)

// attack is what somebody might call a process, a directory or a machine.
const attack = "=x\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07\n\r\x1b[2J\u009b31m\u202egpj.exe\u2066\u200b\xff\xe2\x80"

// everyQuestion is command lines of every kind, about an archive at path.
func everyQuestion(path string) [][]string {
	var list [][]string
	for _, q := range []string{
		"", "info", "summary", "events", "events --kind *", "metrics --all", "metrics proc", "at end", "at start+5m", "why", "why --at start+12m", "why --from start --to start+8m",
		"diff --before 5m", "diff start..start+8m end-8m..end --all -n 0", "ps", "ps --tree --sort name", "ps --from start", "ps *x* --from start -n 0",
		"ps *x* --from start --step 1s -n 3", "threads --from start", "top", "top --by memory --group parent", "top --group name --by write -n 0", "top --group user", "energy", "energy --on-battery --group name -n 2", "net", "net --peers",
		"values proc.psinfo.sname", "values kernel.all.load --from end-2m", "values mem --step 1m", "values filesys.full --step 1s", "values proc.psinfo.utime --step 10s",
		"rates kernel.all.cpu --step 1m", "rates proc.io.write_bytes --explain", "rates mem.util.used/mem.physmem --step 10s",
		"ranges kernel proc.memory.rss filesys", "ranges kernel.all.load --step 1m", "ranges mem.util.used/mem.physmem --step 1m", "plot kernel.all.load filesys.full", "plot proc.memory.rss",
		"export kernel filesys --format csv -o -", "export proc.psinfo --format jsonl -o -", "export --format csv --table processes -o -", "export --format csv --table metrics -o -",
		"find kernel.all.load>0", "find proc.memory.rss>1MB --for 1s", "explain kernel.all.load filesys.full thermal.fan.speed", "verify",
		"ps nosuch --from start", "values nosuch", "values filesys.full -i nosuch", "at 03:10 --host nosuch", "top --from start --by nosuch", "values kernel.all.load --units byte",
	} {
		args := strings.Fields(q)
		if q == "verify" || q == "" || q == "info" || q == "summary" || q == "events" {
			list = append(list, append(args, path))
			continue
		}
		list = append(list, append(args, "--archive", path, "--show-command"))
	}
	return list
}

// hostileParts is the recording in testdata/mac.txt with an attack in every
// text that there is.
func hostileParts(t testing.TB) []*querytest.Part { return hostileWith(t, attack) }

// hostileWith is the same with another one.
func hostileWith(t testing.TB, attack string) []*querytest.Part {
	t.Helper()
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	done := make(map[*metric.Instance]bool)
	for _, p := range parts {
		h := &p.Info.Host
		for _, s := range []*string{&h.Name, &h.OS, &h.Release, &h.Arch, &h.Model, &h.Platform, &p.Info.BootID, &p.Info.TimeZone, &p.Info.Recorder} {
			*s += attack
		}
		for i := range h.Labels {
			h.Labels[i].Value += attack
		}
		h.Labels = append(h.Labels, metric.Label{Name: attack, Value: attack})
		for _, d := range p.Catalog {
			d.Help, d.LongHelp, d.Source = d.Help+attack, d.LongHelp+attack, d.Source+attack
			if d.Unsupported != "" {
				d.Unsupported += attack
			}
		}
		for _, tick := range p.Ticks {
			for b := range tick.Blocks {
				block := tick.Blocks[b]
				for _, in := range block.Rows {
					if in != nil && !done[in] {
						done[in] = true
						in.Name += attack
						in.Labels = append(in.Labels, metric.Label{Name: "exe", Value: attack}, metric.Label{Name: "user", Value: attack})
					}
				}
				for c := range block.Cols {
					for i := range block.Cols[c].Words {
						block.Cols[c].Words[i] += attack
					}
				}
			}
		}
		for i := range p.Events {
			e := &p.Events[i]
			e.Text += attack
			e.Labels = append(e.Labels, metric.Label{Name: "how", Value: attack})
		}
	}
	return parts
}

// Nothing that an archive holds, nor its own name, reaches a terminal as more
// than letters, whatever is asked.
func TestNothingActs(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.ToValidUTF8(strings.ReplaceAll(attack, "/", ""), ""))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir = writeParts(t, hostileParts(t), dir)[0]
	for _, format := range []string{"table", "csv", "json"} {
		shown := 0
		for _, q := range everyQuestion(dir) {
			stdout, stderr, _ := replay(openStore, append(q, "--utc", "--format", format)...)
			name := strings.Join(q[:min(2, len(q))], " ")
			if strings.Contains(stdout+stderr, `52;c;ZXZpbA==`) {
				shown++
			}
			for what, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
				allowed := "\n"
				if format == "csv" && what == "stdout" {
					allowed = "\n\t"
				}
				if i := strings.IndexFunc(text, func(r rune) bool { return visible.Acts(r) && !strings.ContainsRune(allowed, r) }); i >= 0 || strings.ToValidUTF8(text, "") != text {
					t.Errorf("replay %s --format %s: %s holds %q", name, format, what, text[max(i, 0):min(len(text), max(i, 0)+60)])
				}
			}
			// An end of a line within a name would begin a line of its own.
			for line := range strings.Lines(stdout + stderr) {
				if format != "csv" && strings.HasPrefix(line, `\r\x1b[2J`) {
					t.Errorf("replay %s --format %s: a name goes on in the next line: %q", name, format, line)
				}
				if format == "json" && !json.Valid([]byte(line)) && strings.HasPrefix(line, "{") {
					t.Errorf("replay %s: no json: %s", name, line)
				}
			}
		}
		if shown < 20 {
			t.Errorf("only %d answers as %s show the attack", shown, format)
		}
	}
}

// extremes are the bits that no formatter may trip over.
var extremes = []uint64{0, 1, 1<<63 - 1, 1 << 63, math.MaxUint64, math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1)),
	math.Float64bits(math.Inf(-1)), math.Float64bits(-math.MaxFloat64), math.Float64bits(math.SmallestNonzeroFloat64), 0x7fc00000, 0xff800000}

// Every question takes every value, and processes of which nothing could be read.
func TestAnyBits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("asks every question of every change")
	}
	for name, change := range map[string]func(col *metric.Column, n, i int){
		"extremes": func(col *metric.Column, n, i int) { col.Bits[i] = extremes[(n+i)%len(extremes)] },
		"absent": func(col *metric.Column, n, i int) {
			for len(col.Miss) < len(col.Bits) {
				col.Miss = append(col.Miss, metric.Present)
			}
			col.Miss[i] = metric.Permission
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := querytest.Load("testdata/mac.txt")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				for n, tick := range p.Ticks {
					for b := range tick.Blocks {
						for c := range tick.Blocks[b].Cols {
							col := &tick.Blocks[b].Cols[c]
							for i := range col.Bits {
								change(col, n+c, i)
							}
						}
					}
				}
			}
			dir := writeParts(t, parts, t.TempDir())[0]
			for _, format := range []string{"table", "csv", "json"} {
				for _, q := range everyQuestion(dir) {
					stdout, _, _ := replay(openStore, append(q, "--utc", "--format", format)...)
					for line := range strings.Lines(stdout) {
						if format == "json" && !json.Valid([]byte(line)) && strings.HasPrefix(line, "{") {
							t.Errorf("replay %s: no json: %s", q[0], line)
						}
					}
				}
			}
		})
	}
}
