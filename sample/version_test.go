package sample

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	if v := Version(); !strings.HasPrefix(v, Release) {
		t.Errorf("Version() = %q does not begin with the release %q", v, Release)
	}
}
