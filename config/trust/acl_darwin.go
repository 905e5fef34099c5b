package trust

import "io/fs"

// checkList does not look at the access lists of macOS: see the package's
// comment.
func (o Owners) checkList(string, fs.FileInfo) error { return nil }
