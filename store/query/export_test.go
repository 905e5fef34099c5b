package query

// PartAt has questions parted into cohorts of about so many instances, until what it
// returns is called.
func PartAt(size int) (restore func()) {
	was := cohortSize
	cohortSize = size
	return func() { cohortSize = was }
}
