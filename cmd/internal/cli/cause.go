package cli

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns the system's error without the name of the file, for a sentence that already has
// the name. It returns other errors unchanged.
func Cause(err error) error {
	path, link := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
