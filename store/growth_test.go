package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// growthDays are the lengths of the recordings that are compared. They are
// sampled thinly (the system every 30 s, processes every 10 minutes), so that
// a month can be made in a minute.
var growthDays = []int{1, 7, 30}

// theMonth is a directory with 30 archives of a day each.
var theMonth = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tacho-month")
	if err != nil {
		return "", err
	}
	scratchDirs = append(scratchDirs, dir)
	for day := range growthDays[len(growthDays)-1] {
		if err := makeDay(filepath.Join(dir, fmt.Sprintf("%02d.tacho", day)), day*36, 36, 30, 600); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// BenchmarkGrowth asks the same questions of one, seven and thirty days: about
// an hour, whose cost must not grow, and about everything.
func BenchmarkGrowth(b *testing.B) {
	month, err := theMonth()
	if err != nil {
		b.Skip(err)
	}
	for _, days := range growthDays {
		var paths []string
		for day := range days {
			paths = append(paths, filepath.Join(month, fmt.Sprintf("%02d.tacho", day)))
		}
		b.Run(fmt.Sprintf("open/days=%d", days), func(b *testing.B) {
			for b.Loop() {
				r, err := store.Open(paths...)
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
		r, err := store.Open(paths...)
		if err != nil {
			b.Fatal(err)
		}
		first := r.Archives()[0]
		from := first.From + (first.To-first.From)/2
		to := from + int64(time.Hour)
		one := func(b *testing.B, sel store.Selection) {
			for b.Loop() {
				n := 0
				for run := range r.Select(sel) {
					n += len(run.Wall)
				}
				if n == 0 {
					b.Fatal("no values")
				}
			}
		}
		b.Run(fmt.Sprintf("hour-of-counter/days=%d", days), func(b *testing.B) {
			one(b, store.Selection{Metrics: []string{"stat.stat.ctxt"}, From: from, To: to})
		})
		b.Run(fmt.Sprintf("process/days=%d", days), func(b *testing.B) {
			one(b, store.Selection{Keys: []string{someProcess(b, paths[0])}, Metrics: processMetrics(r)})
		})
		b.Run(fmt.Sprintf("all-of-counter/days=%d", days), func(b *testing.B) {
			one(b, store.Selection{Metrics: []string{"stat.stat.ctxt"}})
		})
		b.Run(fmt.Sprintf("all-summaries/days=%d", days), func(b *testing.B) {
			sel := store.Selection{Metrics: systemMetrics(r)}
			for b.Loop() {
				for range r.Summarize(sel) {
				}
			}
		})
		r.Close()
	}
}

func processMetrics(r *store.Reader) (names []string) {
	for _, d := range r.Metrics() {
		if d.Indom == "process" {
			names = append(names, d.Name)
		}
	}
	return names
}

func systemMetrics(r *store.Reader) (names []string) {
	for _, d := range r.Metrics() {
		if d.Class == metric.Fast {
			names = append(names, d.Name)
		}
	}
	return names
}
