package stack

import (
	"context"
	"time"
)

// A Sampler samples the stacks of other processes.
type Sampler interface {
	// Sample samples as wish says and calls give with each sample, soon after it has taken it
	// and never while anything is suspended. The sampler reuses the sample after give returns;
	// it never changes images, and the same image is the same pointer. It returns early when
	// ctx is done, which is no error. An error means that it could sample nothing, and why.
	Sample(ctx context.Context, wish Wish, give func(*Sample)) (Statistics, error)
}

// Wish is what a Sampler should sample.
type Wish struct {
	PID int32 // 0 means all processes
	// Rate is samples per second.
	Rate int
	For  time.Duration
	// Without names calls of the kernel that the sampler must not make, because they have hung
	// since the machine was started.
	Without []string
}

// Limits of a wish and of samples.
const (
	MaxRate  = 1000
	MaxDepth = 512 // frames of a stack, the kernel's included
)
