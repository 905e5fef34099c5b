package catalog

import (
	"regexp"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// aliases are several names for one number. They share the identifier on purpose, because
// they do so in PCP's own tables.
var aliases = map[string]string{
	"proc.psinfo.maj_flt":  "proc.psinfo.majflt",
	"proc.psinfo.pgrp":     "proc.psinfo.pgid",
	"proc.psinfo.tty_pgrp": "proc.psinfo.tpgid",
	"network.tcp.inerrs":   "network.tcp.inerrs.total",
	"network.udp.inerrors": "network.udp.inerrors.total",
	"disk.dev.avg_rqsz":    "disk.dev.avgrq_sz",
	"proc.memory.vmsize":   "proc.memory.size",
}

func TestNamesAndIdentifiers(t *testing.T) {
	wellFormed := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9][A-Za-z0-9_]*)*$`)
	owner := make(map[metric.PMID]string)
	number := make(map[string]metric.PMID)
	for _, table := range tables {
		for _, r := range table {
			if !wellFormed.MatchString(r.name) {
				t.Errorf("%q is not a metric name", r.name)
			}
			if _, twice := number[r.name]; twice {
				t.Errorf("%s stands in two rows", r.name)
			}
			number[r.name] = r.pmid
			if r.pmid == 0 {
				t.Errorf("%s has no identifier", r.name)
			}
			if _, alias := aliases[r.name]; alias {
				continue
			}
			if other, taken := owner[r.pmid]; taken {
				t.Errorf("%s and %s share the identifier %s", r.name, other, r.pmid)
			}
			owner[r.pmid] = r.name
			if len(r.on) == 0 {
				t.Errorf("%s is on no platform", r.name)
			}
		}
	}
}

func TestRows(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)\b(todo|fixme|tbd)\b`)
	for _, p := range []Platform{Darwin, Linux} {
		helps := make(map[string]string)
		for _, d := range For(p) {
			t.Run(p.String()+" "+d.Name, func(t *testing.T) {
				if d.Source == "" {
					t.Error("no source")
				}
				words := strings.Fields(d.Help)
				if len(words) < 2 || len(d.Help) > 110 || strings.HasSuffix(d.Help, ".") || strings.Contains(d.Help, "\n") {
					t.Errorf("help is not one line of some words without full stop: %q", d.Help)
				}
				if squeeze(d.Help) == squeeze(d.Name) {
					t.Error("help only repeats the name")
				}
				if other, twice := helps[d.Help]; twice {
					t.Errorf("has the same help as %s: %q", other, d.Help)
				}
				helps[d.Help] = d.Name
				if d.LongHelp != "" && !strings.HasSuffix(d.LongHelp, ".") {
					t.Errorf("longer help without full stop: %q", d.LongHelp)
				}
				if w := forbidden.FindString(d.Help + d.LongHelp + d.Source + d.Unsupported); w != "" {
					t.Errorf("says %q", w)
				}
				if u, err := metric.ParseUnits(d.Units.String()); err != nil || u != d.Units {
					t.Errorf("units %q do not survive printing and parsing: %v", d.Units, err)
				}
				if d.Type == metric.String && (d.Sem == metric.Counter || d.Units != metric.NoUnits) {
					t.Error("a string that counts or has units")
				}
				if !d.Type.Valid() || d.Class >= metric.NumClasses {
					t.Errorf("type %s, class %s", d.Type, d.Class)
				}
				if d.Width != 0 && d.Sem != metric.Counter {
					t.Error("has the width of a counter but is none")
				}
				if d.Falls != metric.MayRestart && d.Sem != metric.Counter {
					t.Error("says how a counter falls but is none")
				}
				if d.Clamped && d.Width == 0 {
					t.Error("clamped at no width")
				}
				if d.Unsupported != "" && d.Formula != "" {
					t.Error("computed and unsupported")
				}
				perProcess := d.Class == metric.Process || d.Class == metric.Costly
				if d.Indom == "process" && !perProcess || d.Indom == "thread" && d.Class != metric.Thread {
					t.Errorf("class %s does not fit the instance domain %s", d.Class, d.Indom)
				}
			})
		}
	}
}

// squeeze keeps only letters, so that "Active CPU" and "active.cpu" are equal.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

var inFormula = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*`)

func TestFormulasUseRecordedMetrics(t *testing.T) {
	for _, p := range []Platform{Darwin, Linux} {
		for _, d := range For(p) {
			if d.Formula == "" {
				continue
			}
			t.Run(p.String()+" "+d.Name, func(t *testing.T) {
				for _, word := range inFormula.FindAllString(d.Formula, -1) {
					switch word {
					case "rate", "delta", "sum", "count", "by", d.Indom:
						continue
					}
					in := Find(p, word)
					switch {
					case in == nil:
						t.Errorf("there is no metric %s", word)
					case in.Formula != "" || in.Unsupported != "":
						t.Errorf("%s is never recorded", word)
					case in.Indom != d.Indom && !(d.Indom == "owner" && in.Indom == "process"):
						t.Errorf("%s has another instance domain", word)
					}
				}
				if d.Class == metric.Static {
					t.Error("computed, but static")
				}
			})
		}
	}
}

func TestFallsOfCounters(t *testing.T) {
	for name, want := range map[string]metric.Falls{
		"kernel.all.cpu.idle": metric.NeverRestarts, "kernel.percpu.cpu.user": metric.NeverRestarts, "proc.psinfo.utime": metric.NeverRestarts,
		"network.interface.in.bytes": metric.MayRestart, "disk.dev.read_bytes": metric.MayRestart, "network.all.in.bytes": metric.MayRestart, "thread.utime": metric.MayRestart,
	} {
		for _, p := range []Platform{Darwin, Linux} {
			d := Find(p, name)
			if d.Falls != want {
				t.Errorf("%s on %s %s", name, p, d.Falls)
			}
			old := *d
			old.Falls = metric.MayRestart
			if Complete(&metric.Host{Platform: p.Name()}, &old); old != *d {
				t.Errorf("%s on %s: an archive that does not say so %s", name, p, old.Falls)
			}
		}
	}
	for _, name := range neverRestart {
		n := 0
		for _, p := range []Platform{Darwin, Linux} {
			n += len(Prefix(p, name))
		}
		if n == 0 {
			t.Errorf("no metric is called %s", name)
		}
	}
}

// Every metric whose text says percent has that unit, also in archives that do not say so.
func TestPercentIsAUnit(t *testing.T) {
	for _, p := range []Platform{Darwin, Linux} {
		for _, d := range For(p) {
			said := strings.Contains(d.Help, "in percent") || strings.HasSuffix(d.Name, "_pct") || strings.HasSuffix(d.Name, "_percent")
			if said != (d.Units == metric.Percent) && d.Name != "gpu.util" && d.Name != "process.cpu_percent" {
				t.Errorf("%s on %s: %q is in %q", d.Name, p, d.Help, d.Units)
			}
			old := *d
			if old.Units != metric.Percent {
				continue
			}
			old.Units = metric.NoUnits
			if old.Formula != "" {
				old.Formula = "100 * (" + old.Formula + ")"
			}
			if Complete(&metric.Host{Platform: p.Name()}, &old); old != *d {
				t.Errorf("%s on %s: completed, it is in %q and computed by %q", d.Name, p, old.Units, old.Formula)
			}
		}
	}
	foreign := metric.Desc{Name: "filesys.full", Type: metric.U32, Sem: metric.Instant}
	if Complete(&metric.Host{Platform: "linux"}, &foreign); foreign.Units != metric.NoUnits {
		t.Error("a metric of another type was given units")
	}
}
