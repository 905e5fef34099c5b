package query

import (
	"cmp"
	"runtime"

	"tachograph/store"
)

// twinned is an Archive that two can ask at once, one of them its twin: a
// *store.Reader.
type twinned interface {
	Twin() *store.Reader
	Join(*store.Reader)
}

// beside answers two questions at once where there are cores for that, else one
// after the other. A panic of the second is one of the caller's.
func beside(a Archive, first, second func(Archive) error) error {
	t, ok := a.(twinned)
	if !ok || runtime.GOMAXPROCS(0) == 1 {
		if err := first(a); err != nil {
			return err
		}
		return second(a)
	}
	twin := t.Twin()
	done := make(chan struct{})
	var err error
	var fell any
	go func() {
		defer close(done)
		defer func() { fell = recover() }()
		err = second(twin)
	}()
	wait := func() {
		<-done
		t.Join(twin)
	}
	before := func() error {
		defer wait() // also where the first panics
		return first(a)
	}()
	if fell != nil {
		panic(fell)
	}
	return cmp.Or(before, err)
}
