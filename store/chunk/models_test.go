package chunk

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// To decode all instances takes the models of a few segments at a time, not those
// of all: a recorder that merges what it wrote would hold megabytes of them.
func TestAllInstancesTakeFewModels(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // so that the pool keeps what it has, but for the race detector
	before := spareNumbers.New
	defer func() { spareNumbers.New = before }()
	models := 0
	spareNumbers.New = func() any { models++; return new(number) }
	g := groupOf(someInstances(rand.New(rand.NewPCG(1, 1)), 4000, 60), 60)
	for models == 0 { // what other tests have given back
		spareNumbers.Get()
	}
	models = 0
	if _, err := g.Instances(); err != nil {
		t.Fatal(err)
	}
	if models > 300 {
		t.Errorf("%d models", models)
	}
}
