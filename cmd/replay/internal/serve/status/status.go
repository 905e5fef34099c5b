// Package status builds the errors of the services. Each has a code, a sentence for people
// and details for programs, as google.rpc defines them. Text that a client sent is made
// safe to print before an error repeats it.
package status

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/cmd/internal/visible"
)

// domain is the domain of these reasons.
const domain = "tachograph"

// Errorf returns an error with a code and, for programs, a reason in capital letters.
func Errorf(code connect.Code, reason, format string, args ...any) *connect.Error {
	return withDetail(code, fmt.Sprintf(format, args...), &errdetails.ErrorInfo{Reason: reason, Domain: domain})
}

// Invalid returns the error for an invalid field of a request. The field is named as in the
// .proto: "selection.metrics[3]".
func Invalid(field, format string, args ...any) *connect.Error {
	text := sentence(fmt.Sprintf(format, args...))
	return withDetail(connect.CodeInvalidArgument, field+": "+text, &errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	})
}

// TooMany returns the error for a request that may be repeated after a while.
func TooMany(after time.Duration, format string, args ...any) *connect.Error {
	return withDetail(connect.CodeResourceExhausted, fmt.Sprintf(format, args...), &errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
}

func withDetail(code connect.Code, text string, detail proto.Message) *connect.Error {
	err := connect.NewError(code, errors.New(sentence(text)))
	if d, problem := connect.NewErrorDetail(detail); problem == nil {
		err.AddDetail(d)
	}
	return err
}

// longest is the length of the longest sentence: gRPC sends it in a header.
const longest = 1000

func sentence(s string) string {
	if s = visible.Text(s); len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
