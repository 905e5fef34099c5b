package cli

import (
	"io"
	"testing"

	"github.com/spf13/pflag"
)

func TestOnce(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // the error
	}{
		{nil, ""}, {[]string{"--listen", "a"}, ""}, {[]string{"--listen", "a", "--other", "b", "--other", "c"}, ""},
		{[]string{"--listen", "a", "--listen=b"}, "--listen is given twice: give it once"},
		{[]string{"--number=1", "--number=2"}, "--number is given twice: give it once"}, {[]string{"--number=1"}, ""}, {[]string{"--number=x"}, "--number x: write a whole number"},
	} {
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		listen := f.String("listen", "", "")
		f.String("other", "", "")
		f.Int("number", 0, "")
		Once(f, "listen", "number")
		err := FlagError(f.Parse(c.args))
		if c.want == "" && (err != nil || len(c.args) > 1 && *listen != "a") || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: %v, listen %q", c.args, err, *listen)
		}
	}
}
