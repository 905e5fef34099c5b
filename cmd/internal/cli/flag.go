package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// takes says what values flags of a type accept.
var takes = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"uint":     "a whole number",
	"float64":  "a number",
	"duration": "a duration, such as 30s, 10m or 2h",
}

// FlagError words an error about a flag for the person who typed it: it says what the flag
// accepts, not which library function refused the value. Other errors stay as they are.
func FlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	name := invalid.GetFlag().Name
	if errors.Is(err, errTwice) {
		return fmt.Errorf("--%s is given twice: give it once", name)
	}
	what, known := takes[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s %s: write %s", name, invalid.GetValue(), what)
}
