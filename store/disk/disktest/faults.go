package disktest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Faults makes a fault for Fail of a line of text, so that a table of tests
// reads as what befalls the disk:
//
//	write, create: ENOSPC
//	write of *.j*: EIO after 3 bytes
//	read, readdir: ok; write: EROFS halfway; any: EROFS
//
// Rules are tried in turn, and the first that names the kind of the operation,
// and a pattern that its file's name matches, decides. What no rule is about
// succeeds. A line that makes no sense is a mistake of the test and panics.
func Faults(text string) func(Op) error {
	var rules []rule
	for part := range strings.SplitSeq(text, ";") {
		rules = append(rules, parseRule(strings.TrimSpace(part)))
	}
	return func(op Op) error {
		for _, r := range rules {
			if r.about(op) {
				return r.fault(op)
			}
		}
		return nil
	}
}

type rule struct {
	kinds []Kind // nil for any
	of    string // a pattern, empty for any file
	err   error  // nil for ok
	// Of a write so many bytes are written before it fails: -1 for none, or half
	// of them.
	after int
	half  bool
}

var errnos = map[string]error{
	"ok": nil, "ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "EROFS": syscall.EROFS, "EACCES": syscall.EACCES,
}

func parseRule(text string) rule {
	r := rule{after: -1}
	what, fault, ok := strings.Cut(text, ":")
	kinds, of, named := strings.Cut(strings.TrimSpace(what), " of ")
	if r.of = strings.TrimSpace(of); named && r.of == "" {
		ok = false
	}
	for word := range strings.SplitSeq(kinds, ",") {
		if word = strings.TrimSpace(word); word == "any" {
			continue
		}
		k := slices.Index(kindNames, word)
		ok = ok && k >= 0
		r.kinds = append(r.kinds, Kind(k))
	}
	errno, how, _ := strings.Cut(strings.TrimSpace(fault), " ")
	err, known := errnos[errno]
	r.err = err
	switch {
	case how == "halfway":
		r.half = true
	case how != "":
		n, e := fmt.Sscanf(how, "after %d bytes", &r.after)
		ok = ok && n == 1 && e == nil
	}
	if !ok || !known {
		panic(fmt.Sprintf("disktest: %q is no rule: kinds, of a pattern, a colon, and an error", text))
	}
	return r
}

func (r *rule) about(op Op) bool {
	if r.kinds != nil && !slices.Contains(r.kinds, op.Kind) {
		return false
	}
	match, err := path.Match(r.of, path.Base(op.Name))
	return r.of == "" || err == nil && match
}

func (r *rule) fault(op Op) error {
	after := r.after
	if r.half {
		after = len(op.Data) / 2
	}
	if r.err == nil || op.Kind != Write || after < 0 {
		return r.err
	}
	return &Short{N: after, Err: r.err}
}
