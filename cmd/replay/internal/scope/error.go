package scope

import "fmt"

// Kind is the kind of an Error.
type Kind uint8

const (
	Mistake    Kind = iota // made by the client
	Outside                // nothing was recorded in the window
	Nothing                // nothing that was asked for was recorded
	Unreadable             // the archives cannot be read, now
	Broken                 // a bug of the program
)

// Error is a failure to answer a question.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// NoPermission is the error for archives that may not be read. It says what to do about it.
func NoPermission(path string) error {
	return fmt.Errorf("no permission to read %s: run the same with sudo, or as a member of the group that may read the archives (archive.group in the recorder's configuration)", path)
}
