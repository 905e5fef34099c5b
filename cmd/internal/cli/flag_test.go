package cli

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/pflag"
)

func TestOfFlag(t *testing.T) {
	for arg, want := range map[string]string{
		"--quick=maybe": "--quick maybe: write true or false",
		"--number=x":    "--number x: write a whole number",
		"-nx":           "--number x: write a whole number",
		"--wait=long":   "--wait long: write a duration, such as 30s, 10m or 2h",
		"--nosuch":      "unknown flag: --nosuch",
	} {
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		f.Bool("quick", false, "")
		f.IntP("number", "n", 1, "")
		f.Duration("wait", 0, "")
		if err := FlagError(f.Parse([]string{arg})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	other := errors.New("other")
	if got := FlagError(other); got != other {
		t.Errorf("another error became %v", got)
	}
}
