// Package mend finds the damage in archives and journals, and makes from a damaged archive the
// best one that is still possible.
package mend
