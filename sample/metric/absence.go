package metric

import (
	"fmt"
	"sync"
)

// Reason says why a value is absent. Zero means that it is present. The numbers up to lastFixed
// are stored in archives. ReasonFor assigns higher ones to texts, and archives store the text.
type Reason uint16

const (
	Present     Reason = iota
	NotRead            // the source did not get to it
	Permission         // the kernel refused: a matter of privilege
	Unsupported        // this machine, kernel or hardware does not have it
	Vanished           // its instance went away while it was being read
	TimedOut           // the source did not answer before its deadline
	Stale              // the source answered with an old value
	Refused            // the kernel answered zeros instead of the truth
	Other              // an error whose text could not be kept
	lastFixed   = Reason(63)
)

var fixedReasons = []string{
	"present", "not read", "permission denied", "unsupported", "vanished",
	"timed out", "stale", "withheld by the kernel", "error",
}

// maxReasons limits the memory for error texts in a process that lives for years.
const maxReasons = 4096

var reasons struct {
	sync.RWMutex
	ids   map[string]Reason
	texts []string
	// failed says, for each text, whether it is the error of a failed call.
	failed []bool
}

// ReasonFor returns the reason with this text, making one if necessary. Texts must be few: put
// no pid and no counter into them.
func ReasonFor(text string) Reason { return reasonFor(text, false) }

// FailureFor is ReasonFor for the text of a call's error: the value is absent because something
// went wrong, and not because this machine lacks it.
func FailureFor(text string) Reason { return reasonFor(text, true) }

func reasonFor(text string, failure bool) Reason {
	for i, s := range fixedReasons {
		if s == text {
			return Reason(i)
		}
	}
	reasons.RLock()
	r, ok := reasons.ids[text]
	reasons.RUnlock()
	if ok {
		return r
	}
	reasons.Lock()
	defer reasons.Unlock()
	if r, ok := reasons.ids[text]; ok {
		return r
	}
	if len(reasons.texts) >= maxReasons {
		return Other
	}
	if reasons.ids == nil {
		reasons.ids = make(map[string]Reason)
	}
	r = lastFixed + 1 + Reason(len(reasons.texts))
	reasons.texts = append(reasons.texts, text)
	reasons.failed = append(reasons.failed, failure)
	reasons.ids[text] = r
	return r
}

// Failure reports whether r was made by FailureFor.
func (r Reason) Failure() bool {
	if r <= lastFixed {
		return false
	}
	reasons.RLock()
	defer reasons.RUnlock()
	i := int(r - lastFixed - 1)
	return i < len(reasons.failed) && reasons.failed[i]
}

func (r Reason) String() string {
	if int(r) < len(fixedReasons) {
		return fixedReasons[r]
	}
	if r > lastFixed {
		reasons.RLock()
		defer reasons.RUnlock()
		if i := int(r - lastFixed - 1); i < len(reasons.texts) {
			return reasons.texts[i]
		}
	}
	return fmt.Sprintf("reason(%d)", uint16(r))
}
