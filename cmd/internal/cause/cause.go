// Package cause strips the file name from errors of the os package, for sentences that
// name the file already and for files that exist only for a moment.
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
