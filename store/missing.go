package store

import (
	"errors"
	"fmt"
	"tachograph/store/fault"
)

// hole says what is missing between two journal files.
func hole(records uint64, from, to int64) error {
	return fmt.Errorf("the %d records before it are missing, %s", records, fault.Stretch(from, to))
}

// errEmptied says that a journal has lost everything.
var errEmptied = errors.New("it is empty: its beginning is written when it is made, so that what it held is lost")
