package assistant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tachograph/sample/proc/cmdline"
	"tachograph/store/query"
)

// kind is the type of an argument or of a field.
type kind uint8

const (
	text    kind = iota
	texts        // a list
	whole        // a number
	number       // in fields only
	truth        // true or false
	instant      // in fields only
	object       // in fields only
)

const list = texts

// What arguments may hold.
const (
	mostText  = 1 << 10 // bytes of a text
	mostTexts = 50      // texts of an argument
	mostInput = 2 << 10 // bytes of all, because answers repeat them
)

// A param is an argument of a tool.
type param struct {
	name, about string
	kind        kind
	flag        string   // of the command; "" if it is an operand, or means something to this package
	one         []string // what it may be; nil: anything
	must        bool
	otherwise   string // what the flag is without it
}

// How a series is made for each value of the argument how: a command, and its column of values.
var how = map[string]struct {
	command []string
	column  string
}{
	"":     {[]string{"rates"}, "rate"},
	"mean": {[]string{"rates"}, "rate"},
	"min":  {[]string{"ranges", "--rates", "--quick"}, "min"},
	"max":  {[]string{"ranges", "--rates", "--quick"}, "max"},
	"last": {[]string{"ranges", "--rates", "--quick"}, "last"},
}

// A call is a tool with its arguments.
type call struct {
	*tool
	given    map[string]any
	scope    []string // flags that say which part of the archives is meant
	flags    []string
	operands []string
	skip     int
}

// understand checks arguments. What is wrong it says in a sentence.
func (t *tool) understand(raw json.RawMessage) (*call, error) {
	c := &call{tool: t, given: make(map[string]any)}
	if len(bytes.TrimSpace(raw)) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&c.given); err != nil {
			return nil, fmt.Errorf("the arguments of %s are an object, such as %s", t.name, t.example())
		}
	}
	if len(raw) > mostInput {
		return nil, fmt.Errorf("the arguments of %s have more than %d bytes: ask in parts", t.name, mostInput)
	}
	names := make([]string, 0, len(c.given))
	for name := range c.given {
		names = append(names, name)
	}
	slices.Sort(names)
	params := t.all()
	for _, name := range names {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			return nil, fmt.Errorf("%s has no argument %q: it takes %s", t.name, cmdline.Bounded(name, 60), t.takes())
		}
	}
	for _, p := range params {
		v, ok := c.given[p.name]
		switch {
		case !ok && p.must:
			return nil, fmt.Errorf("%s needs %s: %s; for example %s", t.name, p.name, p.about, t.example())
		case !ok && p.otherwise == "":
			continue
		case !ok:
			v = p.otherwise
		}
		if err := c.take(&p, v); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// example returns arguments that are right.
func (t *tool) example() string {
	if t.shown != "" {
		return t.shown
	}
	examples := map[string]string{"metrics": `["kernel.all.load"]`, "condition": `"kernel.all.load[1*] > 8"`, "about": `"disk write"`, "metric": `"kernel.all.load"`, "at": `"03:12"`}
	var list []string
	for _, p := range t.params {
		if p.must {
			list = append(list, fmt.Sprintf("%q: %s", p.name, examples[p.name]))
		}
	}
	if list == nil {
		list = []string{`"from": "-1h"`}
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// take adds the value of an argument to the command line. No text is a word of its own before
// "--": it is the value of a flag, in the same word, or an operand of a command whose operands
// are no file names.
func (c *call) take(p *param, v any) error {
	wrong := func(what string) error {
		return fmt.Errorf("%s of %s is %s: %s", p.name, c.name, what, p.about)
	}
	var words []string
	switch p.kind {
	case whole:
		n, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil || n < 0 || n > 1<<30 {
			return wrong("a whole number that is not negative")
		}
		if p.name == skip.name {
			c.skip = n
			return nil
		}
		words = []string{strconv.Itoa(n)}
	case truth:
		set, ok := v.(bool)
		if !ok {
			return wrong("true or false")
		}
		words = []string{strconv.FormatBool(set)}
	case list:
		l, ok := v.([]any)
		if !ok {
			l = []any{v}
		}
		if len(l) > mostTexts {
			return wrong(fmt.Sprintf("a list of at most %d texts", mostTexts))
		}
		for _, v := range l {
			s, ok := word(v)
			if !ok {
				return wrong(fmt.Sprintf("a list of texts of at most %d bytes", mostText))
			}
			words = append(words, s)
		}
	default:
		s, ok := word(v)
		if !ok || s == "" {
			return wrong(fmt.Sprintf("a text of at most %d bytes", mostText))
		}
		words = []string{s}
	}
	if len(p.one) > 0 && !slices.Contains(p.one, words[0]) {
		return fmt.Errorf("%s of %s is one of %s, not %q%s", p.name, c.name, strings.Join(p.one, ", "), cmdline.Bounded(words[0], 60), query.Suggest(words[0], p.one))
	}
	for _, s := range words {
		switch {
		case slices.Contains([]string{from.name, to.name, host.name}, p.name):
			c.scope = append(c.scope, "--"+p.flag+"="+s)
		case p.flag != "":
			c.flags = append(c.flags, "--"+p.flag+"="+s)
		case p.name != "how":
			c.operands = append(c.operands, s)
		}
	}
	return nil
}

// word returns a text that may be part of a command line. People write pids as numbers.
func word(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, len(v) <= mostText && utf8.ValidString(v) && !strings.ContainsRune(v, 0)
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// line returns the command line of a part of the answer.
func (c *call) line(p *part, step time.Duration) []string {
	command := p.command
	if p.series {
		command = how[c.how()].command
	}
	args := slices.Concat(command, c.scope, []string{"--show-command"})
	if p.key != c.parts[0].key && !p.same {
		return args
	}
	if step > 0 {
		args = append(args, "--step="+step.String())
	}
	return slices.Concat(args, c.flags, []string{"--"}, c.operands)
}

func (c *call) how() string { s, _ := c.given["how"].(string); return s }

// stepped reports whether the window is to be cut into steps.
func (c *call) stepped() bool {
	_, at := c.given[at.name]
	_, begins := c.given[from.name]
	_, ends := c.given[to.name]
	return c.points > 0 && !at && (c.whole || begins || ends)
}

// next returns the call that gives the rows after those that were shown.
func (c *call) next(shown int) any {
	arguments := make(map[string]any, len(c.given)+1)
	for name, v := range c.given {
		arguments[name] = v
	}
	arguments[skip.name] = c.skip + shown
	return map[string]any{"tool": c.name, "arguments": arguments}
}

// lengths are those of steps that people can think in.
var lengths = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// stepOf returns the length of steps that cut a window into at most so many.
func stepOf(window time.Duration, points int) time.Duration {
	least := window / time.Duration(points-1) // The first and the last step may be cut off.
	for _, l := range lengths {
		if l >= least {
			return l
		}
	}
	day := 24 * time.Hour
	return (least + day - 1) / day * day
}
