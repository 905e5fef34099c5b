//go:build !darwin

package activate

import (
	"errors"
	"os"
)

// Sockets fails: there is no launchd here.
func Sockets(string) ([]*os.File, error) { return nil, errors.New("only macOS has launchd") }
