package serve

import (
	"strings"
	"testing"
)

func TestNothingHandedByLaunchd(t *testing.T) {
	const want = "--listen launchd is for a job of launchd that has a socket: launchd did not start this process"
	if _, err := New(Options{Listen: "launchd"}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
