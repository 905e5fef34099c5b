package query

import (
	"math/rand/v2"
	"testing"
)

// What is ordinary by some of the windows is not unusual by all of them.
func TestOrdinaryStays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sample := func(n int, scale float64) (out []float64) {
		for range n {
			out = append(out, (r.Float64()-0.5)*scale)
		}
		return out
	}
	stopped := 0
	for range 20000 {
		a, b := r.Float64(), r.Float64()*3-1
		others := sample(1+r.IntN(8), 2)
		if !ordinary(a, b, others) {
			continue
		}
		stopped++
		// The others may lie anywhere, also all in one place.
		more := sample(r.IntN(24), []float64{0, 0.1, 2, 1e3}[r.IntN(4)])
		shift := r.Float64()*4 - 2
		for i := range more {
			more[i] += shift
		}
		if all := append(others, more...); unusual(a, b, all, extreme) {
			t.Fatalf("%v after %v is ordinary, but unusual with all of %v", b, a, all)
		}
	}
	if stopped < 5000 {
		t.Errorf("%d are ordinary: the test is of no use", stopped)
	}
	if ordinary(1, 1, nil) {
		t.Error("with no other window anything is unusual")
	}
}
