package linux

import "os"

// remote asks a file system that may never answer. It has at most one open request, in a
// goroutine of its own; a dead server thus costs one thread, not one more at every sample.
type remote struct {
	path    string
	ask     func(path string, s *space) error
	answers chan answer
	asking  bool
	late    bool // an earlier wait for the open request timed out
}

type answer struct {
	space space
	err   error
}

func newRemote(path string, ask func(string, *space) error) *remote {
	return &remote{path: path, ask: ask, answers: make(chan answer, 1)}
}

// request asks, unless an earlier request is still open.
func (r *remote) request() {
	if r.asking {
		return
	}
	r.asking = true
	go func() {
		var a answer
		a.err = r.ask(r.path, &a.space)
		r.answers <- a
	}()
}

// answer waits until the timeout. If an earlier wait timed out it returns at once, until that
// request's answer has come.
func (r *remote) answer(timeout <-chan struct{}) (space, error) {
	if !r.late {
		select {
		case a := <-r.answers:
			r.asking = false
			return a.space, a.err
		case <-timeout:
			r.late = true
			return space{}, os.ErrDeadlineExceeded
		}
	}
	select {
	case a := <-r.answers:
		r.asking, r.late = false, false
		return a.space, a.err
	default:
		return space{}, os.ErrDeadlineExceeded
	}
}
