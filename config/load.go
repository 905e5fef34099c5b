package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"tachograph/config/trust"
	"tachograph/sample/metric"
)

// maxFile limits what Load reads: a configuration has some kilobytes.
const maxFile = 1 << 20

// Load reads the file at path over the defaults and checks that only its owner can change it.
func Load(path string) (*Config, error) {
	f, _, err := trust.Running(os.Geteuid()).Open(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("the configuration cannot be read: %s is larger than %s", path, FormatSize(maxFile))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	c, err := Parse(path, string(text))
	if err != nil {
		return nil, err
	}
	commands := c.commands()
	if err := checkPlace(path, info, commands); err != nil {
		return nil, err
	}
	if err := checkCommands(commands); err != nil {
		return nil, err
	}
	return c, nil
}

// Parse reads a configuration's text over the defaults. The file's name is used only in errors.
func Parse(file, text string) (*Config, error) {
	tree := make(map[string]any)
	if _, err := toml.Decode(text, &tree); err != nil {
		// The parser's own message quotes the text that it could not parse.
		e := &Error{File: file, Msg: "this line is not valid TOML"}
		var pe toml.ParseError
		if errors.As(err, &pe) {
			e.Line = pe.Position.Line
		}
		return nil, e
	}
	c := Default()
	c.File = file
	c.lines = locate(text)
	var errs list
	rules, hasRules := tree["rule"]
	triggers, hasTriggers := tree["trigger"]
	delete(tree, "rule")
	delete(tree, "trigger")
	flat := make(map[string]any)
	flatten("", tree, flat)
	for path, v := range flat {
		i := slices.IndexFunc(keys, func(k key) bool { return k.path == path })
		switch {
		case i < 0:
			errs.add(c.unknown(path))
		default:
			if err := keys[i].set(c, v); err != nil {
				errs.add(c.mistake(path, err.Error()))
			}
		}
	}
	if hasRules {
		c.parseRules(rules, &errs)
	}
	if hasTriggers {
		c.parseTriggers(triggers, &errs)
	}
	slices.SortFunc(errs, func(a, b error) int { return a.(*Error).Line - b.(*Error).Line })
	if err := errs.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// flatten turns nested tables into dotted paths. A table in place of a value becomes the paths
// below it, an empty one its own path.
func flatten(prefix string, tree, out map[string]any) {
	for name, v := range tree {
		path := name
		if prefix != "" {
			path = prefix + "." + name
		}
		sub, ok := v.(map[string]any)
		switch {
		case ok && (len(sub) > 0 || isSection(path)):
			flatten(path, sub, out)
		default:
			out[path] = v
		}
	}
}

func isSection(path string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.path, path+".") })
}

func (c *Config) parseRules(v any, errs *list) {
	tables, ok := v.([]map[string]any)
	if !ok {
		errs.add(c.mistake("rule", "is not a list of tables (write [[rule]])"))
		return
	}
	for i, t := range tables {
		path := fmt.Sprintf("rule.%d", i)
		r := Rule{Class: metric.NumClasses, line: c.lines[path]}
		for name, v := range t {
			var err error
			switch name {
			case "match":
				err = r.setMatch(v)
			case "class":
				err = r.setClass(v)
			default:
				errs.add(c.unknown(path + "." + name))
			}
			if err != nil {
				errs.add(c.mistake(path+"."+name, err.Error()))
			}
		}
		for _, name := range []string{"match", "class"} {
			if _, ok := t[name]; !ok {
				errs.add(c.mistake(path, "has no "+name))
			}
		}
		c.Rules = append(c.Rules, r)
	}
}

func (r *Rule) setMatch(v any) error {
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	ps, err := stringList(v)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if err := CheckPattern(p); err != nil {
			return err
		}
	}
	r.Match = ps
	return nil
}

func (r *Rule) setClass(v any) error {
	return withString(v, func(s string) error {
		cl, err := metric.ParseClass(s)
		if err != nil {
			var names []string
			for c := metric.Class(0); c < metric.NumClasses; c++ {
				names = append(names, c.String())
			}
			return oneOf(new(string), "", names...)
		}
		r.Class = cl
		return nil
	})
}

func (c *Config) mistake(path, msg string) *Error {
	return &Error{File: c.File, Line: c.lines[path], Key: path, Msg: msg}
}

func (c *Config) unknown(path string) *Error {
	msg := "is not a key of the configuration"
	if near := nearest(path); near != "" {
		msg += "; did you mean " + near + "?"
	}
	return c.mistake(path, msg)
}

// nearest returns the key that was probably meant: one with the same last word, or one that
// differs by a letter or two.
func nearest(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	best, bestDist := "", 3
	for _, k := range keys {
		d := distance(path, k.path)
		if k.path[strings.LastIndexByte(k.path, '.')+1:] == last {
			d = 1
		}
		if d < bestDist {
			best, bestDist = k.path, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// LoadDefault reads the default file, or returns the defaults if there is none.
func LoadDefault() (*Config, error) {
	path := DefaultFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	return Load(path)
}
