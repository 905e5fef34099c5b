//go:build !linux

package linux

import "errors"

func statfs(string, *space) error { return errors.ErrUnsupported }
