package pmdatest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// pcpTypes are what PCP's programs call types.
var pcpTypes = map[pcp.Type]string{
	pcp.I32: "32-bit int", pcp.U32: "32-bit unsigned int", pcp.I64: "64-bit int", pcp.U64: "64-bit unsigned int",
	pcp.Float: "float", pcp.Double: "double", pcp.String: "string",
}

// TestEveryMetricIsTold has pminfo tell all that there is of all metrics. Nothing of it is
// an error, and all is what the recorder lists.
func TestEveryMetricIsTold(t *testing.T) {
	t.Parallel()
	d := answering(t, installed(t))
	rows := asked[row](t, exec.Command(recorder(t), "metrics", "--json"))
	can := readable(probed(t))
	for i := range rows {
		rows[i].Supported = rows[i].Supported && can[rows[i].Metric]
	}
	d.Until(t, "what is computed over an interval has one", func() bool {
		m := d.Info(t, "tachograph.process.cpu_percent")[0]
		return len(m.Values) == 1
	})
	// Of a source that is late, as on a busy machine, the agent says that who asks may try again.
	moving := overTheInterval(rows)
	var told []*pmcdtest.Told
	d.Until(t, "no source is late", func() bool {
		told = d.Info(t, "tachograph")
		return !slices.ContainsFunc(told, func(m *pmcdtest.Told) bool {
			return strings.Contains(m.Error, "Try again") && !moving[strings.TrimPrefix(m.Name, pcp.Root+".")]
		})
	})
	judgeTold(t, told, rows, pcp.Beside(domain))
}

// readable are the metrics of which something could be read.
func readable(list []reading) map[string]bool {
	can := make(map[string]bool)
	for _, v := range list {
		can[v.Metric] = can[v.Metric] || v.Reason == "" || v.Reason == metric.Stale.String()
	}
	return can
}

// judgeTold compares what pminfo tells with what the recorder lists.
func judgeTold(t *testing.T, told []*pmcdtest.Told, rows []row, layout pcp.Layout) {
	t.Helper()
	want, met := listed(t, rows, layout), make(map[string]bool)
	supported, moving := make(map[string]bool), overTheInterval(rows)
	for _, r := range rows {
		supported[r.Metric] = r.Supported
	}
	values, explained := 0, make(map[string]bool)
	for _, m := range told {
		values += len(m.Values)
		w := want[m.Name]
		if w == nil {
			if !strings.HasPrefix(m.Name, pcp.Root+".control.") {
				t.Errorf("%s is told and not listed", m.Name)
			}
			continue
		}
		met[m.Name] = true
		check := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s is told as %q and listed as %q", m.Name, what, got, want)
			}
		}
		check("number", m.PMID, w.PMID.String())
		check("type", m.Type, pcpTypes[w.Type])
		sem, _ := pcp.Semantics(w.Semantics)
		check("semantics", m.Semantics, sem.String())
		indom := "PM_INDOM_NULL"
		if w.InDom != pcp.Null {
			indom = pcp.InDomString(w.InDom)
		}
		check("instance domain", m.InDom, indom)
		// Degrees and such came after PCP 6.0; their bits are no units to it.
		of := pcp.Units(w.Units)
		of.Other = ""
		units := of.String()
		if units == "" {
			units = "none"
		}
		check("units", m.Units, units)
		if explained[m.PMID] { // a further name, which has the texts of the first
			continue
		}
		explained[m.PMID] = true
		check("line", m.OneLine, w.Desc.Help)
		if !strings.Contains(m.Help, strings.TrimSpace(w.Desc.LongHelp)) {
			t.Errorf("%s: its help is %q, without %q", m.Name, m.Help, w.Desc.LongHelp)
		}
		switch {
		case moving[w.Desc.Name], heardOf(series{metric: w.Desc.Name}), aboutTheReader(series{metric: w.Desc.Name}): // which may have been idle, or is more here
		case supported[w.Desc.Name]:
			if m.Error != "" || m.Empty {
				t.Errorf("%s has no values, which can be read: %s", m.Name, m.Error)
			}
		case len(m.Values) > 0:
			t.Errorf("%s has values, which cannot be read here: %s", m.Name, w.Desc.Unsupported)
		}
	}
	for name, w := range want {
		if !met[name] && supported[w.Desc.Name] {
			t.Errorf("%s is listed and not told", name)
		}
	}
	t.Logf("%d metrics, %d values", len(told), values)
}
