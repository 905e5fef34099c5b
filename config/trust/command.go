package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Command checks what a command runs, and returns the path of its program. It checks the
// program, and every file and directory that the arguments name, since an interpreter runs the
// file it is given, and other programs read there, or in a file of that directory, what to do.
func (o Owners) Command(words []string) (program string, err error) {
	if program, err = o.Resolve(words[0]); err != nil {
		return "", err
	}
	for _, word := range words[1:] {
		for _, path := range named(word) {
			if info, err := os.Stat(path); err == nil && info.Mode()&(fs.ModeDevice|fs.ModeSocket) != 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if _, err := o.Resolve(path); err != nil {
				return "", err
			}
		}
	}
	return program, nil
}

// named returns the files and directories that an argument may name: as a whole, relative to
// the root directory, in which commands are run; as the value of an option; or within a text
// for a shell.
func named(word string) []string {
	var paths []string
	if _, err := os.Stat(filepath.Join("/", word)); err == nil {
		paths = append(paths, filepath.Join("/", word))
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>{}$=,", r) }) {
		if filepath.IsAbs(part) {
			paths = append(paths, part)
		}
	}
	return paths
}
