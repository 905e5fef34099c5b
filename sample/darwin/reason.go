package darwin

import (
	"errors"
	"syscall"

	"tachograph/sample/metric"
)

// reasonFor returns why a value is absent after a call failed with err. The text of an error is
// kept as it is: it names the call, and there are few texts.
func reasonFor(err error) metric.Reason {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return metric.Permission
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTSUP):
		return metric.Unsupported
	}
	return metric.FailureFor(err.Error())
}
