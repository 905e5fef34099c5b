package status

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err  *connect.Error
		code connect.Code
		text string
	}{
		{Invalid("selection.metrics[1]", "%s is nothing", "\x1b[2J"), connect.CodeInvalidArgument, `selection.metrics[1]: \x1b[2J is nothing`},
		{TooMany(2*time.Second, "there are %d", 3), connect.CodeResourceExhausted, "there are 3"},
		{Errorf(connect.CodeOutOfRange, "GONE", "gone"), connect.CodeOutOfRange, "gone"},
		{Invalid("x", "%s", strings.Repeat("é", 3000)), connect.CodeInvalidArgument, "x: " + strings.Repeat("é", 498) + "…"},
	} {
		if c.err.Code() != c.code || c.err.Message() != c.text || len(c.err.Details()) != 1 {
			t.Errorf("%v", c.err)
		}
	}
	v, err := TooMany(2*time.Second, "no").Details()[0].Value()
	if retry, ok := v.(*errdetails.RetryInfo); err != nil || !ok || retry.RetryDelay.AsDuration() != 2*time.Second {
		t.Errorf("%v %v", v, err)
	}
}
