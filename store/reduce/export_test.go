package reduce

// SetMostColumns has groups be bounded sooner, and returns what makes it as it was.
func SetMostColumns(n int) func() {
	was := mostColumns
	mostColumns = n
	return func() { mostColumns = was }
}
