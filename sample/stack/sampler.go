package stack

import (
	"context"
	"time"
)

// A Sampler looks at the stacks of other processes.
type Sampler interface {
	// Sample looks as it is wished and gives what it sees, soon after it has seen
	// it and never while anything is suspended. What is given is the sampler's
	// again when give returns; images are never changed, and the same one is the
	// same pointer. It returns early when ctx is done, which is no error; an error
	// is that nothing could be looked at, and why.
	Sample(ctx context.Context, wish Wish, give func(*Sample)) (Statistics, error)
}

// Wish is what a Sampler shall look at.
type Wish struct {
	PID int32 // 0 is all processes
	// Rate is how often a second.
	Rate int
	For  time.Duration
	// Without names the kernel's calls that the sampler must not make, because they hung since
	// the machine was started.
	Without []string
}

// Limits of what may be wished, and of what is given.
const (
	MaxRate  = 1000
	MaxDepth = 512 // frames of a stack, the kernel's included
)
