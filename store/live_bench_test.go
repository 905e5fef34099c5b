package store_test

import (
	"errors"
	"fmt"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/recording"
	"tachograph/store/storetest"
)

// BenchmarkOpenLive opens the archive that a writer has been writing for some
// time, none of which is committed yet: the dearest moment for a reader.
func BenchmarkOpenLive(b *testing.B) {
	path, err := storetest.Find()
	if errors.Is(err, storetest.ErrNone) {
		b.Skip(err)
	}
	for _, minutes := range []int{5, 14, 29, 39} {
		b.Run(fmt.Sprintf("%dmin", minutes), func(b *testing.B) {
			d, err := storetest.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			dir := b.TempDir()
			w, err := recording.Create(recording.Options{Dir: dir, BootID: "b", Seal: recording.DefaultSeal})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for i := range minutes * 60 {
				sys, proc, err := d.Next()
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range []*metric.Tick{sys, proc} {
					if t == proc && i%5 != 0 {
						continue
					}
					if err := w.Append(t); err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				r, err := store.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}
