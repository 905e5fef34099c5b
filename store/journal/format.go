package journal

import _ "embed"

// Format describes journals, byte by byte.
//
//go:embed FORMAT.md
var Format string
