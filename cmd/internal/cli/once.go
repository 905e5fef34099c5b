package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

var errTwice = errors.New("it is given twice")

// once is the value of a flag that may be given only once.
type once struct {
	pflag.Value
	given bool
}

func (o *once) Set(s string) error {
	if o.given {
		return errTwice
	}
	o.given = true
	return o.Value.Set(s)
}

// Once makes f refuse each of these flags when it is given twice. Otherwise the first of two
// addresses to listen at, for example, would be ignored silently.
func Once(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = &once{Value: flag.Value}
	}
}
