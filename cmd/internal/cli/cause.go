package cli

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns what the system said, without the name of the file, for a sentence that names
// the file already. An error of another kind it returns as it is.
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
