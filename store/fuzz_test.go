package store_test

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/layout"
)

// FuzzDescs decodes hostile descriptions of metrics.
func FuzzDescs(f *testing.F) {
	f.Add(layout.MarshalDescs([]*metric.Desc{{Name: "a", Units: metric.Bytes, Help: "h"}, {}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		ds, err := layout.ParseDescs(in)
		if err != nil {
			return
		}
		again, err := layout.ParseDescs(layout.MarshalDescs(ds))
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
