// Package cause takes the system's words out of errors about files, for sentences that
// name the file already, or that must not name one that was there only for a while.
package cause

import (
	"errors"
	"io/fs"
	"os"
)

// Of is what the system said of a file; an error of another kind is as it was.
func Of(err error) error {
	path, link := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
