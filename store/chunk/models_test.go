package chunk

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// Decoding all instances takes the models of a few segments at a time, not of all, and keeps
// none. Otherwise a recorder that merges its own chunks would hold megabytes of them.
func TestAllInstancesTakeFewModels(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing in the pool is dropped
	before := spareNumbers.New
	defer func() { spareNumbers.New = before }()
	models := 0
	spareNumbers.New = func() any { models++; return new(number) }
	for range 64 {
		n := new(number)
		if spareNumbers.Put(n); spareNumbers.Get() != any(n) {
			t.Skip("the race detector has pools forget")
		}
	}
	insts := someInstances(rand.New(rand.NewPCG(1, 1)), 4000, 60)
	parts := []*Group{groupOf(insts, 60), groupOf(insts, 60), groupOf(insts, 60)}
	for models == 0 { // models that other tests returned
		spareNumbers.Get()
	}
	models = 0
	for _, g := range parts {
		if _, err := g.Instances(); err != nil {
			t.Fatal(err)
		}
	}
	if models > 120 {
		t.Errorf("%d models", models)
	}
}
