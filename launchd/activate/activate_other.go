//go:build !darwin

package activate

import (
	"errors"
	"os"
)

// Sockets fails: only macOS has launchd.
func Sockets(string) ([]*os.File, error) { return nil, errors.New("only macOS has launchd") }
