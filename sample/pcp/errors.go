package pcp

import (
	"fmt"

	"tachograph/sample/metric"
)

// PCP's errors. In a result an error replaces the number of a metric's values; as an answer it
// rejects a request. Agents and servers do not use the codes in the gaps. PCP takes codes nearer
// to zero for negated error numbers of the system.
const (
	ErrText        = -12349
	ErrAppVersion  = -12350
	ErrValue       = -12351
	ErrTimeout     = -12353
	ErrName        = -12357
	ErrPMID        = -12358
	ErrInDom       = -12359
	ErrInst        = -12360
	ErrConv        = -12362
	ErrSign        = -12364
	ErrIPC         = -12366
	ErrNoProfile   = -12381
	ErrNoAgent     = -12386
	ErrPermission  = -12387
	ErrConnLimit   = -12388
	ErrAgain       = -12389
	ErrNotConn     = -12391
	ErrNonLeaf     = -12394
	ErrType        = -12397
	ErrNoContainer = -12399
	ErrBadStore    = -12400
	ErrNoLabels    = -12410
	ErrFenced      = -12411
	ErrTLS         = -12414
	ErrTooBig      = -12444
	ErrReady       = -13393
	ErrNotReady    = -13394
	ErrNYI         = -21344
)

var errorTexts = map[int32]string{
	ErrText:        "no help text",
	ErrAppVersion:  "not supported by this machine",
	ErrValue:       "missing value",
	ErrTimeout:     "no answer in time",
	ErrName:        "unknown metric name",
	ErrPMID:        "unknown metric identifier",
	ErrInDom:       "unknown instance domain",
	ErrInst:        "unknown instance",
	ErrConv:        "impossible conversion of a value",
	ErrSign:        "negative value of an unsigned metric",
	ErrIPC:         "protocol failure",
	ErrNoProfile:   "missing profile",
	ErrNoAgent:     "no agent of that domain",
	ErrPermission:  "no permission",
	ErrConnLimit:   "too many connections",
	ErrAgain:       "not available now, try again",
	ErrNotConn:     "not connected",
	ErrNonLeaf:     "name of a branch and not of a metric",
	ErrType:        "unknown type of metric",
	ErrNoContainer: "no such container",
	ErrBadStore:    "not a value to be stored",
	ErrNoLabels:    "no labels",
	ErrFenced:      "agent fenced off",
	ErrTLS:         "failure of TLS",
	ErrTooBig:      "too much",
	ErrReady:       "agent ready",
	ErrNotReady:    "agent not ready yet",
	ErrNYI:         "not implemented",
}

// ErrorText describes an error.
func ErrorText(code int32) string {
	if s, ok := errorTexts[code]; ok {
		return s
	}
	return fmt.Sprintf("PCP's error %d", code)
}

// ErrorOf returns PCP's error for an absent value.
func ErrorOf(r metric.Reason) int32 {
	switch r {
	case metric.Permission:
		return ErrPermission
	case metric.Unsupported:
		return ErrAppVersion
	case metric.TimedOut:
		return ErrAgain
	}
	return ErrValue
}

// ReasonOf returns why values are absent that PCP reports with an error.
func ReasonOf(code int32) metric.Reason {
	switch code {
	case ErrPermission:
		return metric.Permission
	case ErrAppVersion:
		return metric.Unsupported
	case ErrAgain:
		return metric.TimedOut
	}
	return metric.NotRead
}
