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

// mappingOf returns what replaces names; nil leaves them.
func mappingOf(replace, keyFile string) (*redact.Mapping, error) {
	opt := redact.Options{All: replace == redactAll}
	switch replace {
	case "":
		if keyFile != "" {
			return nil, errors.New("--key-file is for pseudonyms: --redact makes them")
		}
		return nil, nil
	case redactNames, redactAll:
	default:
		return nil, fmt.Errorf("--redact=%s: it is --redact, or --redact=all for well-known names as well", replace)
	}
	if keyFile != "" {
		key, err := redact.ReadKey(keyFile)
		if err != nil {
			return nil, fmt.Errorf("--key-file: %w", err)
		}
		opt.Key = key
	}
	return redact.New(opt), nil
}

// left prints what could still identify the machine in a redacted file.
func left(p *page, m *redact.Mapping) {
	if m == nil {
		return
	}
	p.stdout.Println("What is left in it that could tell whose machine it was:")
	for _, text := range m.Left() {
		p.stdout.Println("- " + text)
	}
}
