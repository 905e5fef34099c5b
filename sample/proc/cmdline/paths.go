package cmdline

import (
	"regexp"
	"strings"
)

// roots are where absolute paths begin.
var roots = set(`usr opt nix gnu var home root tmp etc bin sbin lib lib32 lib64 libexec boot dev proc sys run srv mnt media snap
 Users Library Applications System private Volumes Network cores`)

var (
	// plainPath is the form of a path: its first part tells, the others may be anything.
	plainPath = regexp.MustCompile(`^(?:[@=:]?(?:~?[A-Za-z0-9_.+-]*(?::\d{1,5})?|\$\w+|\.{1,2})/|\\\\)[^\s]*$`)
	// digestPart is a checksum that says which one it is, as images and stores name things.
	digestPart = regexp.MustCompile(`^(?:[A-Za-z0-9_.-]+[@:])?sha(?:1|256|384|512)[:-][A-Za-z0-9+=_-]+$`)
)

// pathLike reports whether a word that holds slashes is a path. What is drawn at random
// may hold some, too, but neither begins where paths begin nor has names between them.
func pathLike(w string) bool {
	if strings.HasPrefix(w, `\\`) || !plainPath.MatchString(w) {
		return plainPath.MatchString(w)
	}
	w = strings.TrimLeft(w, "@=:")
	first, rest, _ := strings.Cut(w, "/")
	root, _, _ := strings.Cut(rest, "/")
	if first == "" && roots[root] || first == "." || first == ".." || strings.HasPrefix(first, "~") || strings.HasPrefix(first, "$") {
		return true
	}
	for part := range strings.SplitSeq(w, "/") {
		if !named(part) {
			return false
		}
	}
	return true
}

// named reports whether a word is put together as people put names together.
func named(w string) bool {
	switch {
	case len(w) <= shortWord, knownWord(w), uuid.MatchString(w), digestPart.MatchString(w):
		return true
	case strings.HasSuffix(w, "="):
		return false
	}
	for _, token := range strings.FieldsFunc(w, func(r rune) bool { return r < 0x80 && !letterOrDigit(byte(r)) }) {
		if drawn(token, len(token) == len(w)) {
			return false
		}
	}
	return true
}

// drawn reports whether letters and digits look drawn at random: the kind of sign changes
// more often than in names, or they are a long number in hex, which names have beside
// something else only.
func drawn(s string, alone bool) bool {
	switch {
	case hexadecimal(s):
		return len(s) > 12 || alone && len(s) >= 8
	case strings.ToLower(s) == s, strings.ToUpper(s) == s:
		return breaks(s) > max(3, len(s)/4) // v1beta1
	}
	return breaks(s) > max(1, len(s)/5)
}

// hexadecimal reports whether s is a number in hex for sure: it has digits, and letters up
// to f of one case.
func hexadecimal(s string) bool {
	return strings.ContainsAny(s, "0123456789") && !digits(s) &&
		(strings.Trim(s, hex) == "" || strings.Trim(s, strings.ToUpper(hex)) == "")
}

// breaks counts where the kind of sign changes: in random base64 at two of three signs. A
// capital and the small letters behind it are one word.
func breaks(s string) int {
	n, capitals := 0, 0
	last := kindOf(s[0])
	for i := range len(s) {
		k := kindOf(s[i])
		if k != last && !(last == capitalLetter && k == smallLetter && capitals == 1) {
			n++
		}
		if capitals++; k != capitalLetter {
			capitals = 0
		}
		last = k
	}
	return n
}

// A kind is what a sign is that names are made of.
type kind uint8

const (
	smallLetter kind = iota // or any that is not of ASCII
	capitalLetter
	digit
)

func kindOf(c byte) kind {
	switch {
	case c >= 'A' && c <= 'Z':
		return capitalLetter
	case c >= '0' && c <= '9':
		return digit
	}
	return smallLetter
}
