package software

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Apk reads /lib/apk/db/installed, the list of Alpine: paragraphs with "P:" for the name and "V:"
// for the version. It says what is installed, not since when.
func Apk(r io.Reader) (versions map[string]string, err error) {
	versions = make(map[string]string)
	name := ""
	lines := bufio.NewScanner(io.LimitReader(r, largestList))
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	for lines.Scan() && len(versions) < mostPackages {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "":
			name = ""
		case "P":
			name = word(value)
		case "V":
			if name != "" {
				versions[name] = word(value)
			}
		}
	}
	return versions, lines.Err()
}

const (
	// largestList is how much of a list of packages is read at most.
	largestList  = 32 << 20
	mostPackages = 100_000
)

// Compare returns what changed between two lists, noticed at an instant, sorted by package.
func Compare(was, is map[string]string, at time.Time) (changes []Change) {
	for name, now := range is {
		if before := was[name]; before != now {
			changes = append(changes, Change{At: at, Package: name, Was: before, Is: now, Verb: verbOf(before, now)})
		}
	}
	for name, before := range was {
		if _, there := is[name]; !there {
			changes = append(changes, Change{At: at, Package: name, Was: before, Verb: Removed})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Package, b.Package) })
	return changes
}

// InstallHistory reads /Library/Receipts/InstallHistory.plist of macOS: what installers and the
// system's own updates put in, the oldest first. It does not say what was there before.
func InstallHistory(r io.Reader) (changes []Change, err error) {
	d := xml.NewDecoder(io.LimitReader(r, largestHistory))
	d.Strict = true
	var c Change
	depth, key := 0, "" // depth counts the dictionaries and arrays around
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return changes, nil
		}
		if err != nil {
			return changes, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "array", "dict":
				if depth++; depth == 2 {
					c = Change{Verb: Installed}
				}
				if depth > 8 {
					return changes, errors.New("lists within lists within lists")
				}
			case "plist":
			default:
				text, err := content(d)
				if err != nil {
					return changes, err
				}
				if depth != 2 {
					continue
				}
				if t.Name.Local == "key" {
					key = text
					continue
				}
				c.take(key, text)
				key = ""
			}
		case xml.EndElement:
			if t.Name.Local != "array" && t.Name.Local != "dict" {
				continue
			}
			if depth == 2 && c.Package != "" && !c.At.IsZero() && len(changes) < mostPackages {
				changes = append(changes, c)
			}
			depth--
		}
	}
}

const largestHistory = 16 << 20

// take takes in an entry of the history.
func (c *Change) take(key, text string) {
	switch key {
	case "date":
		c.At, _ = time.Parse(time.RFC3339, text)
	case "displayName":
		c.Package = word(text)
	case "displayVersion":
		c.Is = word(text)
	case "processName":
		c.By = word(text)
	}
}

// content returns the text up to the end of the current element.
func content(d *xml.Decoder) (string, error) {
	var b strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			if b.Len() < 2*longestWord {
				b.Write(t)
			}
		case xml.StartElement:
			return "", errors.New("an element in the place of a text")
		case xml.EndElement:
			return b.String(), nil
		}
	}
}
