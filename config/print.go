package config

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// DefaultText is the commented example file: every key with its default.
//
//go:embed default.toml
var DefaultText string

// TOML returns the effective configuration, for the archive. It leaves out the commands for
// finished archives and for triggers: archives are passed on, and commands may hold secrets.
func (c *Config) TOML() string {
	var b strings.Builder
	section := ""
	for _, k := range keys {
		dot := strings.IndexByte(k.path, '.')
		if s := k.path[:dot]; s != section {
			section = s
			fmt.Fprintf(&b, "[%s]\n", s)
		}
		value := k.get(c)
		if k.path == "archive.on_finish" {
			value = "[]"
			if len(c.Archive.OnFinish) > 0 {
				value = "[] # set, not recorded"
			}
		}
		fmt.Fprintf(&b, "%s = %s\n", k.path[dot+1:], value)
	}
	for _, r := range c.Rules {
		fmt.Fprintf(&b, "[[rule]]\nmatch = %s\nclass = %s\n", quoteList(r.Match), strconv.Quote(r.Class.String()))
	}
	for i := range c.Triggers {
		c.Triggers[i].toml(&b)
	}
	return b.String()
}
