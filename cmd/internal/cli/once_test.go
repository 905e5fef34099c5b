package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOnce(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // the end of the error
	}{
		{nil, ""}, {[]string{"--listen", "a"}, ""}, {[]string{"--listen", "a", "--other", "b", "--other", "c"}, ""},
		{[]string{"--listen", "a", "--listen=b"}, "it is given twice, and there can be one"},
	} {
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		listen := f.String("listen", "", "")
		f.String("other", "", "")
		Once(f, "listen")
		err := f.Parse(c.args)
		if c.want == "" && (err != nil || len(c.args) > 0 && *listen != "a") || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%v: %v, listen %q", c.args, err, *listen)
		}
	}
}
