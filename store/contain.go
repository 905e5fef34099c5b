package store

// handing wraps yield: *out is true while yield runs, and the answer ends when the context of r
// has ended.
func handing[T any](r *Reader, out *bool, yield func(T) bool) func(T) bool {
	return func(v T) bool {
		*out = true
		goOn := yield(v)
		*out = false
		return goOn && !r.over()
	}
}
