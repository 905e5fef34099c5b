package catalog

import (
	"fmt"

	"tachograph/sample/metric"
)

// Platform is a kind of kernel.
type Platform uint8

const (
	Darwin Platform = iota
	Linux
	numPlatforms
)

// Platforms are all platforms.
var Platforms = [numPlatforms]Platform{Darwin, Linux}

func (p Platform) String() string {
	switch p {
	case Darwin:
		return "darwin"
	case Linux:
		return "linux"
	}
	return fmt.Sprintf("platform(%d)", uint8(p))
}

// Name is the platform's name in recordings, in metric.Host.
func (p Platform) Name() string {
	if p == Darwin {
		return "macos"
	}
	return p.String()
}

// PlatformOf is the platform of a recorded host; ok is false for an unknown platform.
func PlatformOf(h *metric.Host) (p Platform, ok bool) {
	for _, p := range Platforms {
		if h.Platform == p.Name() {
			return p, true
		}
	}
	return 0, false
}
