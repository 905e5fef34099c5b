package rewrite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/rewrite"
)

// BenchmarkReadWrite reads an archive of a day, which TACHO_DAY names, tick by tick, and writes another
// one of what it read.
func BenchmarkReadWrite(b *testing.B) {
	day := os.Getenv("TACHO_DAY")
	if day == "" {
		b.Skip("TACHO_DAY names no archive")
	}
	for _, write := range []bool{false, true} {
		name := "read"
		if write {
			name = "write"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				begun, values := time.Now(), 0
				w, err := rewrite.Create(filepath.Join(b.TempDir(), "a.tacho"), about)
				if err != nil {
					b.Fatal(err)
				}
				for it, err := range rewrite.Read(rewrite.ReadOptions{}, day) {
					if err != nil {
						b.Fatal(err)
					}
					if it.Tick != nil {
						values += it.Tick.Values()
						if write {
							err = w.Append(it.Tick)
						}
					} else if write {
						err = w.Event(it.Event)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				if write {
					if err := w.Finish(); err != nil {
						b.Fatal(err)
					}
				}
				w.Abort()
				b.ReportMetric(float64(values)/time.Since(begun).Seconds(), "values/s")
			}
		})
	}
}

// BenchmarkSnapshot cuts ten minutes out of an archive of a day, which TACHO_DAY names: from the
// middle of it, and says how large the file is. The whole command takes about 20 ms more.
func BenchmarkSnapshot(b *testing.B) {
	day := os.Getenv("TACHO_DAY")
	if day == "" {
		b.Skip("TACHO_DAY names no archive")
	}
	r, err := store.Open(day)
	if err != nil {
		b.Fatal(err)
	}
	in := r.Archives()[0]
	from := in.From + (in.To-in.From)/2
	_ = r.Close()
	opt := rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: from, To: from + int64(10*time.Minute)}}
	dir := b.TempDir()
	for n := 0; b.Loop(); n++ {
		report, err := rewrite.Copy(filepath.Join(dir, fmt.Sprint(n, ".tacho")), opt, day)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(report.Bytes), "bytes")
	}
}
