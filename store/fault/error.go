package fault

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Kind classifies an error for the user: a user interface chooses its advice by it, rather than
// by the words.
type Kind uint8

// The kinds of errors.
const (
	Other       Kind = iota
	NotFound         // there is no such file, or no archive
	Denied           // reading or writing it is not allowed
	Exists           // it would be overwritten
	NotArchive       // it is no archive, or too damaged to be recognized as one
	Damaged          // it is an archive, and damaged
	OtherFormat      // another version of this program wrote it
	Locked           // another process has it
	Full             // there is no space left
	Bug              // this program failed while handling it
)

var kindNames = [...]string{"error", "not found", "no permission", "exists", "not an archive", "damaged", "of another version", "locked", "no space left", "a mistake of this program"}

func (k Kind) String() string { return kindNames[k] }

// An Error is the error of an operation on a file.
type Error struct {
	Op   string // the operation, such as "open archive"; it may be empty
	Path string // of the file or directory
	Kind Kind
	Err  error
}

// Error returns a sentence that begins with the operation and the file. A path that the cause
// names again, as errors of the file system do, appears once.
func (e *Error) Error() string {
	text := e.Err.Error()
	if cause := (*fs.PathError)(nil); errors.As(e.Err, &cause) && cause.Path == e.Path {
		text = strings.Replace(text, cause.Error(), cause.Err.Error(), 1)
	}
	head := strings.TrimSpace(e.Op + " " + e.Path)
	if head == "" {
		return text
	}
	return head + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// Of returns the kind of err: that of an Error in it, or otherwise the one that fits the error
// of the operating system.
func Of(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) && e.Kind != Other {
		return e.Kind
	}
	switch {
	case errors.As(err, new(Failed)):
		return Bug
	case errors.Is(err, fs.ErrNotExist):
		return NotFound
	case errors.Is(err, fs.ErrPermission):
		return Denied
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Full
	}
	return Other
}
