package store

import _ "embed"

// Format describes archives, byte by byte.
//
//go:embed FORMAT.md
var Format string
