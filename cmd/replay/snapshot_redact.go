package main

import (
	"errors"
	"fmt"

	"tachograph/cmd/replay/internal/redact"
)

// The values of --redact.
const (
	redactNames = "names"
	redactAll   = "all"
)

// mapping returns what replaces names; nil leaves them.
func (f *snapshotFlags) mapping() (*redact.Mapping, error) {
	opt := redact.Options{All: f.redact == redactAll}
	switch f.redact {
	case "":
		if f.keyFile != "" {
			return nil, errors.New("--key-file is for pseudonyms: --redact makes them")
		}
		return nil, nil
	case redactNames, redactAll:
	default:
		return nil, fmt.Errorf("--redact=%s: it is --redact, or --redact=all for well-known names as well", f.redact)
	}
	if f.keyFile != "" {
		key, err := redact.ReadKey(f.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--key-file: %w", err)
		}
		opt.Key = key
	}
	return redact.New(opt), nil
}

// left prints what could still identify the machine in a redacted file.
func (a *app) left(m *redact.Mapping) {
	if m == nil {
		return
	}
	a.stdout.Println("What is left in it that could tell whose machine it was:")
	for _, text := range m.Left() {
		a.stdout.Println("- " + text)
	}
}
