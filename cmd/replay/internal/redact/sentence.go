package redact

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence maps a text for people. It keeps the words that the recorder itself writes, numbers,
// times, names of metrics and well-known names. All other words are names of something, and
// become pseudonyms: the same as elsewhere if it is known what they name.
func (m *Mapping) sentence(s string) string {
	if s == "" {
		return ""
	}
	more := ""
	if len(s) > longestSentence {
		s, more = s[:longestSentence], " ..."
	}
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		if s = s[n:]; s == "" {
			break
		}
		if known, p := m.phrase(s); known > 0 {
			b.WriteString(p)
			s = s[known:]
			continue
		}
		open, core := leading(s)
		b.WriteString(open)
		if strings.HasPrefix(core, "/") {
			n := pathIn(core)
			b.WriteString(m.path(core[:n]))
			s = core[n:]
			continue
		}
		n = strings.IndexFunc(core, unicode.IsSpace)
		if n < 0 {
			n = len(core)
		}
		b.WriteString(m.token(core[:n]))
		s = core[n:]
	}
	return b.String() + more
}

// longestSentence bounds the work on foreign text; the recorder's own sentences are far shorter.
// longestWord does the same for words that are first looked at as a whole, before they are
// split.
const (
	longestSentence = 8192
	longestWord     = 512
)

// leading splits off the opening quotes and brackets of a text.
func leading(s string) (open, core string) {
	core = strings.TrimLeft(s, `"'([{<`+"`")
	return s[:len(s)-len(core)], core
}

// pathIn returns the length of the path at the beginning of s. Names of files may have blanks in
// them, so the path ends at punctuation that continues the sentence.
func pathIn(s string) int {
	end := len(s)
	for _, stop := range []string{": ", "; ", ", ", "\"", "'", "`", "\n", " (", ")"} {
		if i := strings.Index(s, stop); i > 0 && i < end {
			end = i
		}
	}
	trimmed := strings.TrimRight(s[:end], " .,:;")
	return max(1, len(trimmed))
}

// phrase finds a known name of more than one word at the start of s. Names of one word are
// handled as tokens, so that a program called "memory" does not replace that word in every
// sentence.
func (m *Mapping) phrase(s string) (int, string) {
	if m.longest < 2 {
		return 0, ""
	}
	end, words := 0, 0
	found, what := 0, ""
	for i := 0; i <= len(s) && words < m.longest; {
		j := strings.IndexByte(s[i:], ' ')
		if j < 0 {
			j = len(s) - i
		}
		words++
		end = i + j
		if words > 1 {
			name := strings.TrimRight(s[:end], `.,:;!?"')]}>`)
			if p, ok := m.learned[name]; ok {
				found, what = len(name), p
			}
		}
		i = end + 1
	}
	return found, what
}

// separators join words that are mapped one by one.
const separators = "/=:,;|@#&+~<>[](){}\"'"

// token maps a word, with the punctuation after and in it.
func (m *Mapping) token(s string) string {
	core := strings.TrimRight(s, `.,:;!?"')]}>`)
	tail := s[len(core):]
	if core == "" {
		return s
	}
	if len(core) <= longestWord {
		if t, ok := m.whole(core); ok {
			return t + tail
		}
	}
	if i := strings.IndexAny(core, separators); i >= 0 {
		_, size := utf8.DecodeRuneInString(core[i:])
		left, right := core[:i], core[i+size:]
		if left != "" {
			left = m.token(left)
		}
		if right != "" {
			right = m.token(right)
		}
		return left + core[i:i+size] + right + tail
	}
	return m.learn(aName, core) + tail
}

// whole maps a word that is known as a whole.
func (m *Mapping) whole(s string) (string, bool) {
	switch {
	case !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return s, true
	case isAddress(s):
		return m.learn(anAddress, s), true
	case isUUID(s):
		return m.names.of(aUUID, strings.ToLower(s)), true
	case m.names.made(s), isNumber(s):
		return s, true
	case ownWord(s):
		return s, true
	}
	if p, ok := m.learned[s]; ok {
		return p, true
	}
	if i := strings.LastIndexByte(s, '['); i > 0 && strings.HasSuffix(s, "]") && described()[s[:i]] {
		return s[:i+1] + m.token(s[i+1:len(s)-1]) + "]", true
	}
	if described()[s] || diskNames(s) || interfaceNames(s) {
		return s, true
	}
	if !m.all && (knownProgram(s) || systemAccount(s)) || s == "root" {
		return s, true
	}
	return "", false
}

// ownWord reports whether the recorder itself writes a word.
func ownWord(s string) bool { return vocabulary()[strings.ToLower(s)] }

// ownWords reports whether a name consists of such words.
func ownWords(s string) bool {
	for _, w := range strings.Fields(s) {
		if !ownWord(w) {
			return false
		}
	}
	return true
}

// isNumber reports whether a word is a number, a duration, a size, a version or an instant:
// digits with at most a unit.
var isNumber = pattern(`[+-]?\d+([.,:]\d+){0,2}(%|[eE][+-]?\d+|ns|µs|us|ms|s|m|h|d|w|KB|MB|GB|TB|kB|KiB|MiB|GiB|B|Hz|MHz|GHz|°C)?` +
	`|(\d+(\.\d+)?(h|m|s|ms|µs|us|ns))+|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?|0x[0-9a-fA-F]{1,4}|[rR]?-?\d+`)

var (
	uuidShape    = pattern(`\{?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\}?|[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}`)
	macShape     = pattern(`([0-9a-fA-F]{1,2}[:-]){5,7}[0-9a-fA-F]{1,2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}`)
	portOfIP     = regular(`^(.+?)(:\d{1,5})?(/\d{1,3})?$`)
	addressShape = regular(`^[0-9a-fA-F:.%\[\]/a-z]+$`)
)

func isUUID(s string) bool { return uuidShape(s) }

// isAddress reports whether a word is an IP or hardware address, possibly with a port or a
// prefix length.
func isAddress(s string) bool {
	if macShape(s) {
		return true
	}
	if !strings.ContainsAny(s, ".:") || !addressShape().MatchString(s) {
		return false
	}
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(s); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	parts := portOfIP().FindStringSubmatch(s)
	_, err := netip.ParseAddr(parts[1])
	return err == nil
}

// replaceKnown replaces known names, and keeps everything else.
func (m *Mapping) replaceKnown(s string) string {
	if len(m.learned) == 0 || s == "" {
		return s
	}
	var b strings.Builder
	for s != "" {
		if known, p := m.phrase(s); known > 0 {
			b.WriteString(p)
			s = s[known:]
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(separators, r) })
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		if n < 0 {
			n = len(s)
		}
		word := s[:n]
		if p, ok := m.learned[word]; ok && !ownWord(word) {
			word = p
		}
		b.WriteString(word)
		s = s[n:]
	}
	return b.String()
}
