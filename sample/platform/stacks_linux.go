package platform

import (
	"tachograph/sample/stack"
	"tachograph/sample/stack/perf"
	"tachograph/sample/stack/symbol"
)

// Stacks is what looks at the stacks of processes here, for one session.
func Stacks() (stack.Sampler, error) {
	s := perf.New()
	return namedStacks{s, symbol.NewNamer(s.Open, symbol.Recording)}, nil
}

// namedStacks names functions by the files that are mapped.
type namedStacks struct {
	*perf.Sampler
	*symbol.Namer
}
