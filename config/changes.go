package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is a key with a new effective value.
type Change struct{ Key, Was, Is string }

// Changes compares two configurations key by key. For the command that runs on finished
// archives it says only that it changed, see TOML.
func Changes(old, now *Config) []Change {
	var out []Change
	for _, k := range keys {
		was, is := k.get(old), k.get(now)
		if was == is {
			continue
		}
		if k.path == "archive.on_finish" {
			was, is = commandWord(old), commandWord(now)
		}
		out = append(out, Change{k.path, was, is})
	}
	if !slices.EqualFunc(old.Rules, now.Rules, func(a, b Rule) bool { return a.Class == b.Class && slices.Equal(a.Match, b.Match) }) {
		out = append(out, Change{"rule", ruleWords(old), ruleWords(now)})
	}
	if was, is := triggerChange(old, now); was != is {
		out = append(out, Change{"trigger", was, is})
	}
	return out
}

func commandWord(c *Config) string {
	if len(c.Archive.OnFinish) == 0 {
		return "none"
	}
	return "a command"
}

func ruleWords(c *Config) string {
	if len(c.Rules) == 0 {
		return "none"
	}
	var words []string
	for _, r := range c.Rules {
		words = append(words, fmt.Sprintf("%s %s", quoteList(r.Match), strconv.Quote(r.Class.String())))
	}
	return strings.Join(words, ", ")
}
