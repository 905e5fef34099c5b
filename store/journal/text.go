package journal

import "slices"

// Text in a journal is names: of processes, devices, metrics, groups, errors. A text is coded
// against the previous text of the same field, its reference, token by token; a token is a run
// of digits or a run of anything else. Numbers are coded as differences ("1234" after "1230"),
// or as copies of a number in the instance's key ("001234 sh" with key "1234 88231"); other
// tokens as copies of the reference's token, as recent words of the field, or spelled under a
// model of the last three bytes.

const (
	spellBits = 14
	maxText   = 1 << 20
)

// speller is the model of text that is written out.
type speller struct {
	order [3][]prob
	mix   [256]mixer
}

func (s *speller) reset() {
	for i := range s.order {
		if s.order[i] == nil {
			s.order[i] = make([]prob, 1<<spellBits)
		}
		freshProbs(s.order[i])
	}
	freshMixers(s.mix[:])
}

// spell codes one byte after the three in last.
func (c *coder) spell(s *speller, last uint32, b byte) byte {
	h1 := (last & 0xff) * 0x9e3779b1
	h2 := (last&0xffff)*0x85ebca6b + 0x1234567
	h3 := (last&0xffffff)*0xc2b2ae35 + 0x7654321
	node := uint32(1)
	const shift = 32 - spellBits
	for i := 7; i >= 0; i-- {
		k := node * 0x27d4eb2f
		y := c.bit3(&s.mix[node],
			&s.order[0][(h1^k)*0x9e3779b1>>shift],
			&s.order[1][(h2^k)*0x9e3779b1>>shift],
			&s.order[2][(h3^k)*0x9e3779b1>>shift], int(b>>i&1))
		node = node<<1 | uint32(y)
	}
	return byte(node)
}

// spellRun codes text, which must not contain a zero byte, and a zero byte behind it; last holds
// the bytes before.
func (c *coder) spellRun(s *speller, last uint32, text string, out []byte) []byte {
	for i := 0; ; i++ {
		var b byte
		if i < len(text) {
			b = text[i]
		}
		b = c.spell(s, last, b)
		if b == 0 || len(out) > maxText || c.bad() {
			return out
		}
		out = append(out, b)
		last = last<<8 | uint32(b)
	}
}

// The kinds of token.
const (
	tokEnd  = iota
	tokCopy // the reference's token at this place
	tokNumber
	tokText
)

const maxDigits = 18

// token is a piece of a text; num is set for runs of digits.
type token struct {
	from, to int
	digits   bool
	num      int64
}

// appendTokens cuts s into tokens.
func appendTokens(ts []token, s string) []token {
	for i := 0; i < len(s); {
		j := i
		if isDigit(s[i]) {
			var n int64
			for j < len(s) && isDigit(s[j]) && j-i < maxDigits {
				n = n*10 + int64(s[j]-'0')
				j++
			}
			ts = append(ts, token{from: i, to: j, digits: true, num: n})
		} else {
			for j < len(s) && !isDigit(s[j]) {
				j++
			}
			ts = append(ts, token{from: i, to: j})
		}
		i = j
	}
	return ts
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// field is the model of the texts in one place: keys, names, units, …
type field struct {
	seed   byte
	ref    string
	refTok []token
	same   prob
	plain  prob
	kind   [3][4]prob // by the reference's token here: none, digits, text
	copied [4]prob    // whether a number of the key is copied, by place
	width  number
	delta  [4]number
	prefix number
	length number
	recent words
}

// words are the last words of a field: on most machines the same few programs come and go, and a
// spelled byte costs the work of eight bits.
type words struct {
	list  [1 << wordBits]string
	count int // of all words ever added
	known prob
	which [1 << wordBits]prob
}

const (
	wordBits = 4
	maxWord  = 64 // bytes of a word that is remembered
)

func (w *words) reset() {
	w.list, w.count = [1 << wordBits]string{}, 0
	w.known = freshProb
	freshProbs(w.which[:])
}

// find returns the place of a word, or -1.
func (w *words) find(text string) int { return slices.Index(w.list[:min(w.count, len(w.list))], text) }

func (w *words) add(text string) {
	if len(text) <= maxWord {
		w.list[w.count%len(w.list)] = text
		w.count++
	}
}

func newField(seed byte) *field {
	f := &field{seed: seed}
	f.reset()
	return f
}

func (f *field) reset() {
	f.ref, f.refTok = "", f.refTok[:0]
	f.same, f.plain = freshProb, freshProb
	for i := range f.kind {
		freshProbs(f.kind[i][:])
	}
	freshProbs(f.copied[:])
	for i := range f.delta {
		f.delta[i].reset()
	}
	f.width.reset()
	f.prefix.reset()
	f.length.reset()
	f.recent.reset()
}

// texts holds what coding texts needs besides the models.
type texts struct {
	spell speller
	tok   []token // of the text being encoded
	out   []byte
	built int // bytes of texts, labels and their models made so far
	// key holds the numbers of the key of the instance being coded.
	key []int64
}

// text codes s in field f. Numbers in texts.key may be copied.
func (c *coder) text(t *texts, f *field, s string) string {
	if c.bit(&f.same, b2i(s == f.ref)) != 0 {
		return f.ref
	}
	plain := !c.dec && cleanText(s)
	if c.bit(&f.plain, b2i(plain)) != 0 {
		s = c.tokens(t, f, s)
	} else {
		s = c.bytes(t, f, s)
	}
	if t.built += len(s); c.dec && t.built > builtFree+c.fed*builtPerByte {
		c.fail()
		return ""
	}
	f.ref = s
	f.refTok = appendTokens(f.refTok[:0], s)
	return s
}

// keyOf makes the numbers in key available for copying.
func (t *texts) keyOf(key string) {
	t.tok = appendTokens(t.tok[:0], key)
	t.gather(t.tok)
}

func (t *texts) gather(ts []token) {
	t.key = t.key[:0]
	for _, k := range ts {
		if k.digits {
			t.key = append(t.key, k.num)
		}
	}
}

// cleanText reports whether s can be coded in tokens: it has no zero byte.
func cleanText(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return false
		}
	}
	return true
}

// bytes codes any string as its length and its bytes.
func (c *coder) bytes(t *texts, f *field, s string) string {
	n := c.count(&f.length, len(s), maxText)
	t.out = t.out[:0]
	last := uint32(f.seed)
	for i := 0; i < n && !c.bad(); i++ {
		var b byte
		if i < len(s) {
			b = s[i]
		}
		b = c.spell(&t.spell, last, b)
		t.out = append(t.out, b)
		last = last<<8 | uint32(b)
	}
	if !c.dec {
		return s
	}
	return string(t.out)
}

func (c *coder) tokens(t *texts, f *field, s string) string {
	var toks []token
	if !c.dec {
		t.tok = appendTokens(t.tok[:0], s)
		toks = t.tok
	}
	t.out = t.out[:0]
	for i := 0; !c.bad() && len(t.out) <= maxText; i++ {
		var cur, ref token
		place := min(i, 3)
		has := 0
		if i < len(f.refTok) {
			ref = f.refTok[i]
			has = 2 - b2i(ref.digits)
		}
		kind := tokEnd
		if !c.dec && i < len(toks) {
			cur = toks[i]
			switch {
			case has != 0 && s[cur.from:cur.to] == f.ref[ref.from:ref.to]:
				kind = tokCopy
			case cur.digits:
				kind = tokNumber
			default:
				kind = tokText
			}
		}
		kind = int(c.tree(f.kind[has][:], 2, uint64(kind)))
		switch kind {
		case tokEnd:
			if c.dec {
				return string(t.out)
			}
			return s
		case tokCopy:
			if has == 0 {
				c.fail()
				return ""
			}
			if c.dec {
				t.out = append(t.out, f.ref[ref.from:ref.to]...)
			}
		case tokNumber:
			c.digits(t, f, place, cur, ref)
		default:
			var text, refText string
			if !c.dec {
				text = s[cur.from:cur.to]
			}
			if has == 2 {
				refText = f.ref[ref.from:ref.to]
			}
			c.word(t, f, text, refText)
		}
	}
	c.fail()
	return ""
}

// word codes a run of other bytes: its place among the last words, or how many bytes it shares
// with the beginning of the reference's token, and the rest byte by byte.
func (c *coder) word(t *texts, f *field, text, ref string) {
	if w := &f.recent; w.count > 0 {
		at := -1
		if !c.dec {
			at = w.find(text)
		}
		if c.bit(&w.known, b2i(at >= 0)) != 0 {
			at = int(c.tree(w.which[:], wordBits, uint64(at)))
			if at >= w.count {
				c.fail()
			} else if c.dec {
				t.out = append(t.out, w.list[at]...)
			}
			return
		}
	}
	n := 0
	for n < len(text) && n < len(ref) && text[n] == ref[n] {
		n++
	}
	if ref != "" {
		n = c.count(&f.prefix, n, len(ref))
	}
	last := uint32(f.seed)
	for _, b := range []byte(ref[:n]) {
		last = last<<8 | uint32(b)
	}
	at := len(t.out)
	t.out = append(t.out, ref[:n]...)
	rest := text
	if !c.dec {
		rest = text[n:]
	}
	t.out = c.spellRun(&t.spell, last, rest, t.out)
	if c.dec {
		f.recent.add(string(t.out[at:]))
	} else {
		f.recent.add(text)
		t.out = t.out[:at]
	}
}

// digits codes a run of digits: its value, and its width.
func (c *coder) digits(t *texts, f *field, place int, cur, ref token) {
	from := -1
	if !c.dec {
		for k, v := range t.key {
			if v == cur.num && k < 4 {
				from = k
				break
			}
		}
	}
	var num int64
	isCopy := len(t.key) > 0 && c.bit(&f.copied[place], b2i(from >= 0)) != 0
	if isCopy {
		k := c.raw(2, uint64(max(from, 0)))
		if int(k) >= len(t.key) {
			c.fail()
			return
		}
		num = t.key[k]
	} else {
		num = ref.num + c.signed(&f.delta[place], cur.num-ref.num)
	}
	natural := decimalWidth(num)
	refWidth := ref.to - ref.from
	if !ref.digits {
		refWidth = 0
	}
	// The expected width is the reference's if the number fits, as in zero-padded numbers whose
	// reference begins with a zero; else the number's own.
	expect := natural
	if refWidth > natural && decimalWidth(ref.num) < refWidth {
		expect = refWidth
	}
	width := expect + int(c.signed(&f.width, int64(cur.to-cur.from-expect)))
	if !c.dec {
		return
	}
	if num < 0 || width < natural || width > maxDigits {
		c.fail()
		return
	}
	for i := natural; i < width; i++ {
		t.out = append(t.out, '0')
	}
	t.out = appendDecimal(t.out, num)
}

func decimalWidth(n int64) int {
	w := 1
	for n >= 10 {
		n /= 10
		w++
	}
	return w
}

func appendDecimal(out []byte, n int64) []byte {
	at := len(out)
	for range decimalWidth(n) {
		out = append(out, 0)
	}
	for i := len(out) - 1; i >= at; i-- {
		out[i] = byte('0' + n%10)
		n /= 10
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
