//go:build !darwin

package swiftnames

const there = false

func system(string) string { return "" }
