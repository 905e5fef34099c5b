package software

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// List is what is installed: the versions of each package, several where they lie side by side.
type List map[string][]Version

// Version is one that is installed, and since when, where that is known.
type Version struct {
	Text string
	At   time.Time
}

const (
	// largestList is how much of a list of packages is read at most.
	largestList  = 32 << 20
	mostPackages = 100_000
	mostVersions = 16 // of one package
)

// add adds a version of a package. The same one for another architecture is no other version.
func (l List) add(name string, v Version) {
	all, known := l[name]
	if name == "" || v.Text == "" || len(all) == mostVersions || !known && len(l) == mostPackages || has(all, v.Text) {
		return
	}
	l[name] = append(all, v)
}

// Apk reads /lib/apk/db/installed, the list of Alpine: paragraphs with "P:" for the name and "V:"
// for the version. It says what is installed, not since when.
func Apk(r io.Reader) (List, error) {
	list := make(List)
	name := ""
	err := eachLine(r, func(text string) {
		key, value, _ := strings.Cut(text, ":")
		switch key {
		case "":
			name = ""
		case "P":
			name = word(value)
		case "V":
			list.add(name, Version{Text: word(value)})
		}
	})
	return list, err
}

// Links makes a list of the links below a directory that lead to the version in use: DIR/NAME/…/LINK.
func Links(dir string, links []string) List {
	list := make(List)
	for _, path := range links {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
		if to, err := os.Readlink(path); err == nil {
			version := filepath.Base(to)
			list.add(word(name), Version{Text: word(version[:min(len(version), longestNumber)])})
		}
	}
	return list
}

// longestNumber is how much is kept of the numbers of versions, which may be digests.
const longestNumber = 12

// eachLine passes the lines of a list.
func eachLine(r io.Reader, each func(string)) error {
	lines := bufio.NewScanner(io.LimitReader(r, largestList))
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	for lines.Scan() {
		each(lines.Text())
	}
	return lines.Err()
}

// Compare returns what changed between two lists from an instant to another one, sorted by package.
// Where the list does not say when, it was at the end. A version that came in the place of one
// that is gone is a change; one that came beside others, as a kernel does, was installed.
func Compare(was, is List, from, to time.Time) (changes []Change) {
	add := func(name, was string, is Version) {
		c := Change{At: to, Package: name, Was: was, Is: is.Text, Verb: verbOf(was, is.Text)}
		if is.At.After(from) && is.At.Before(to) {
			c.At = is.At
		}
		changes = append(changes, c)
	}
	for name, now := range is {
		before := was[name]
		gone, come := without(before, now), without(now, before)
		if len(gone) == len(before) && len(come) == len(now) {
			for len(gone) > 0 && len(come) > 0 {
				add(name, gone[0].Text, come[0])
				gone, come = gone[1:], come[1:]
			}
		}
		for _, v := range come {
			add(name, "", v)
		}
		for _, v := range gone {
			add(name, v.Text, Version{})
		}
	}
	for name, before := range was {
		if _, there := is[name]; !there {
			for _, v := range before {
				add(name, v.Text, Version{})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Package, b.Package) })
	return changes
}

// without returns the versions that are not among others.
func without(list, others []Version) (left []Version) {
	for _, v := range list {
		if !has(others, v.Text) {
			left = append(left, v)
		}
	}
	return left
}

func has(list []Version, text string) bool {
	return slices.ContainsFunc(list, func(v Version) bool { return v.Text == text })
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
