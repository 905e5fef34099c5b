// Package mend says what is wrong with archives and journals, and makes of a
// damaged one the best archive that is left of it.
package mend
