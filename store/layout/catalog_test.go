package layout

import (
	"testing"

	"tachograph/sample/metric"
)

func TestDescriptionsComeBack(t *testing.T) {
	d := &metric.Desc{Name: "a.b", PMID: metric.NewPMID(1, 2, 3), Type: metric.F64, Sem: metric.Discrete,
		Units: metric.Units{Space: -1, Time: 2, Count: 1, SpaceScale: 3, TimeScale: 4, CountScale: -2, Other: "°C"},
		Indom: "cpu", Class: metric.Costly, Source: "sysctl x", Help: "help", LongHelp: "long\nhelp", Width: 32, Clamped: true,
		Formula: "a + b", Fastest: 5, Unsupported: "no"}
	ds, err := parseDescs(marshalDescs([]*metric.Desc{d, {}, d}))
	if err != nil || len(ds) != 3 || *ds[0] != *d || *ds[1] != (metric.Desc{}) || *ds[2] != *d {
		t.Fatalf("%+v, %v", ds, err)
	}
}

func TestDescriptionsSayHowCountersFall(t *testing.T) {
	d := &metric.Desc{Name: "x", Sem: metric.Counter, Falls: metric.NeverRestarts}
	got, rest := parseDesc(appendDesc(nil, d))
	if got == nil || len(rest) != 0 || *got != *d {
		t.Errorf("%+v became %+v", d, got)
	}
	if later, _ := parseDesc([]byte{fieldFalls, 1, 9, fieldEnd}); later == nil || later.Falls != metric.MayRestart {
		t.Errorf("a way to fall that is not known yet is %+v", later)
	}
}

// FuzzDescs decodes hostile descriptions of metrics.
func FuzzDescs(f *testing.F) {
	f.Add(marshalDescs([]*metric.Desc{{Name: "a", Units: metric.Bytes, Help: "h"}, {}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		ds, err := parseDescs(in)
		if err != nil {
			return
		}
		again, err := parseDescs(marshalDescs(ds))
		if err != nil || len(again) != len(ds) {
			t.Fatalf("%d descriptions came back as %d: %v", len(ds), len(again), err)
		}
		for i := range ds {
			if *ds[i] != *again[i] {
				t.Fatalf("%+v came back as %+v", ds[i], again[i])
			}
		}
	})
}
