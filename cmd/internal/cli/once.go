package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// once is the value of a flag that is given once at most.
type once struct {
	pflag.Value
	given bool
}

func (o *once) Set(s string) error {
	if o.given {
		return errors.New("it is given twice, and there can be one")
	}
	o.given = true
	return o.Value.Set(s)
}

// Once has flags refused that are given twice: of two places to listen at, say, the first
// would be forgotten without a word.
func Once(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := f.Lookup(name)
		flag.Value = &once{Value: flag.Value}
	}
}
