package cmdline

import (
	"regexp"
	"strings"
)

// roots are the first parts of absolute paths.
var roots = set(`usr opt nix gnu var home root tmp etc bin sbin lib lib32 lib64 libexec boot dev proc sys run srv mnt media snap
 Users Library Applications System private Volumes Network cores`)

var (
	// plainPath matches a path by its first part; the other parts may be anything.
	plainPath = regexp.MustCompile(`^(?:[@=:]?(?:~?[A-Za-z0-9_.+-]*(?::\d{1,5})?|\$\w+|\.{1,2})/|\\\\)[^\s]*$`)
	// digestPart is a checksum with the name of its kind, as in names of images and store
	// paths.
	digestPart = regexp.MustCompile(`^(?:[A-Za-z0-9_.-]+[@:])?sha(?:1|256|384|512)[:-][A-Za-z0-9+=_-]+$`)
)

// pathLike reports whether a word with slashes is a path. Random text may have slashes too, but
// it neither begins as paths do nor has names between them.
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

// named reports whether a word is composed as names usually are.
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

// drawn reports whether letters and digits look random: the kind of character changes more
// often than in names, or they are a long hexadecimal number, which names have only beside
// something else.
func drawn(s string, alone bool) bool {
	switch {
	case hexadecimal(s):
		return len(s) > 12 || alone && len(s) >= 8
	case strings.ToLower(s) == s, strings.ToUpper(s) == s:
		return breaks(s) > max(3, len(s)/4) // v1beta1
	}
	return breaks(s) > max(1, len(s)/5)
}

// hexadecimal reports whether s is certainly a hexadecimal number: it has digits, and letters
// up to f of one case.
func hexadecimal(s string) bool {
	return strings.ContainsAny(s, "0123456789") && !digits(s) &&
		(strings.Trim(s, hex) == "" || strings.Trim(s, strings.ToUpper(hex)) == "")
}

// breaks counts how often the kind of character changes: in random base64, at two of three
// characters. A capital and the small letters after it are one word.
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

// A kind is a kind of character in a name.
type kind uint8

const (
	smallLetter kind = iota // or any outside ASCII
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
