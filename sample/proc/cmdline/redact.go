package cmdline

import (
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "***"

// Redact returns argv with the values that look like secrets replaced. It errs on the side of
// hiding: a port taken for a password costs a glance at the machine, a password taken for a
// port costs the password.
//
// Programs run programs (sudo, env, xargs, sh -c, ssh), so an argument is not only judged by
// the first word: from the word that names a program with secrets on, that program's rules
// apply as well as those already active.
//
// No list of programs is complete: of an unknown program, each word is hidden unless its form,
// or the option before it, shows that it is no secret.
func Redact(argv []string) []string {
	out := make([]string, len(argv))
	r := redactor{piped: pipedSecret(argv)}
	for i, arg := range argv {
		if i == 0 && strings.ContainsAny(arg, " \t") {
			out[i] = r.title(arg, len(argv) > 1)
			continue
		}
		out[i] = r.arg(arg)
	}
	return out
}

type redactor struct {
	active []*program
	verbs  []string // the words so far that are the verb of some rules
	counts []places // secret places ahead

	stage      stage
	values     string // options of a wrapping program whose value is the next word
	shell      bool   // a word with blanks is a command
	interprets bool   // a word with blanks is a program in another language
	inner      []inner
	flags      bool // no option of the wrapping program takes the next word as its value
	behind     int  // words to skip before the program
	told       bool // the option before shows that the next word is no secret

	next  awaited
	piped bool // echo writes a password for another program
	echo  bool // the words are what echo writes
	fed   bool // echo writes a command that another program will run
	lines bool // the end of a line ends a command
}

// awaited is what the previous word says of the next one.
type awaited uint8

const (
	nothing     awaited = iota
	secret              // it is a secret
	maybeSecret         // it is a secret unless it looks otherwise
	userAndPass         // it may be name:password
	shortSecret         // it is a secret unless it is another short option
	assignment          // it may assign a secret to a name
	arguments           // it is the arguments of an unknown program
)

// arg redacts one argument, which may itself be a whole command ("sh -c") or a title that a
// process has given itself.
func (r *redactor) arg(arg string) string {
	if strings.Contains(arg, "PRIVATE KEY-----") || strings.Contains(arg, "PRIVATE KEY BLOCK-----") {
		r.next = nothing
		return Hidden
	}
	if r.next != nothing {
		if s, done := r.awaited(arg); done {
			return s
		}
	}
	if s, done := hideHeader(arg); done {
		return s
	}
	arg = hideSQL(arg)
	if option, value, ok := strings.Cut(arg, "="); ok && r.passes(option) {
		return option + "=" + r.passed(value)
	}
	if !strings.ContainsAny(arg, " \t\r\n") {
		return r.word(arg)
	}
	if m := proxyCommand.FindString(arg); m != "" {
		nested := redactor{active: r.active, piped: r.piped}
		return m + nested.arg(arg[len(m):])
	}
	return r.phrase(arg, r.command)
}

// phrase redacts text with blanks that is one word to the program.
func (r *redactor) phrase(s string, redact func(string) string) string {
	if len(r.counts) == 0 {
		return redact(s)
	}
	if r.counted() {
		return Hidden
	}
	counts := r.counts
	s = redact(s)
	r.counts = counts
	return s
}

// hideHeader hides the value of a header if only its option precedes it.
func hideHeader(arg string) (string, bool) {
	if strings.IndexByte(arg, ':') < 0 {
		return "", false
	}
	m := header.FindStringIndex(arg)
	if m == nil {
		return "", false
	}
	switch before := strings.Trim(arg[:m[0]], " \t\"'"); {
	case before == "", before == "-H", strings.HasPrefix(before, "--header"), strings.HasSuffix(strings.ToLower(before), "extraheader"):
		i := m[0] + strings.IndexByte(arg[m[0]:m[1]], ':') + 1
		gap := len(arg[i:]) - len(strings.TrimLeft(arg[i:], " \t"))
		return arg[:i+gap] + Hidden, true
	}
	return "", false
}

// text redacts a command in the shell's words, or running text.
func (r *redactor) text(arg string) string {
	piped, fed := r.piped, r.fed
	r.piped, r.fed = pipedSecret([]string{arg}) || piped, fedCommand.MatchString(arg) || fed
	defer func() { r.piped, r.fed = piped, fed }()
	var b strings.Builder
	for rest := arg; rest != ""; {
		word, gap, after := shellWord(rest)
		if word != "" {
			b.WriteString(r.shellWord(word))
		}
		if r.lines && strings.Contains(gap, "\n") {
			r.over()
		}
		b.WriteString(gap)
		rest = after
	}
	return hideScheme(hideTokens(b.String()))
}

// shellWord redacts a word of a shell command. Within quotes, it may hold another text.
func (r *redactor) shellWord(word string) string {
	if r.next != nothing {
		if s, done := r.awaited(word); done {
			return s
		}
	}
	if option, value, ok := strings.Cut(word, "="); ok && r.passes(option) && !strings.ContainsAny(value, `'"`) {
		return option + "=" + r.passed(value)
	}
	i := strings.IndexAny(word, `'"`+"`")
	if i < 0 || !strings.ContainsAny(word, " \t\r\n") {
		return r.word(word)
	}
	quote := word[i]
	end := len(word)
	if j := strings.LastIndexByte(word[i+1:], quote); j >= 0 {
		end = i + 1 + j
	}
	// What precedes the quote may say what is in it.
	before := word[:i]
	if strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":") || strings.HasPrefix(before, "-") {
		if s := r.word(before + "x"); strings.HasSuffix(s, Hidden) {
			return s
		}
		r.next = nothing
	}
	if option, ok := strings.CutSuffix(before, "="); ok && r.passes(option) {
		return word[:i+1] + r.passed(word[i+1:end]) + word[end:]
	}
	return r.phrase(word, func(word string) string {
		nested := *r
		nested.next = nothing
		s := word[:i+1] + nested.arg(word[i+1:end]) + word[end:]
		r.counts, r.next = nested.counts, nested.next
		return s
	})
}

// awaited redacts the word that the option before it announced. done is false if the word turns
// out to be something else.
func (r *redactor) awaited(value string) (s string, done bool) {
	what := r.next
	r.next = nothing
	defer func() {
		if done && !strings.HasPrefix(value, "-") {
			r.counted()
		}
	}()
	switch bare := strings.Trim(value, `'"`); {
	case strings.EqualFold(bare, "bearer"), strings.EqualFold(bare, "basic"), strings.EqualFold(bare, "token"),
		strings.EqualFold(bare, "digest"), strings.EqualFold(bare, "negotiate"):
		// The scheme of an authorization is not the secret, which follows it.
		r.next = secret
		return value, true
	case what == userAndPass:
		if s := hideAfterUser(value); s != value {
			return s, true
		}
		return "", false
	case what == assignment:
		if strings.Contains(value, "=") && !strings.ContainsAny(value, " \t{") {
			r.told = false
			return r.judged(value), true
		}
		return "", false
	case what == arguments:
		return r.passed(value), true
	case what == shortSecret && len(bare) == 2 && bare[0] == '-', what == maybeSecret && strings.HasPrefix(bare, "-"):
		return "", false
	case what == maybeSecret && plainValue(value):
		return r.plain(value), true
	case strings.HasPrefix(bare, "-") && secretName(strings.TrimLeft(bare, "-")) != open:
		r.next = secret // two options in a row: one of them has the value
	case isPlainSource(bare):
		return value, true
	}
	return Hidden, true
}

// isPlainSource reports whether a value is no secret whatever its name: it says where the
// secret is, in the syntax of openssl or of shells, or is a single digit.
func isPlainSource(v string) bool {
	for _, p := range []string{"env:", "file:", "fd:", "@keychain:", "@env:"} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return v == "stdin" || digits(v) && len(v) == 1 || v == "-" || len(v) > 1 && v[0] == '$' && !strings.HasPrefix(v, "$(")
}

// hideAfterUser hides the password in name:password and name%password.
func hideAfterUser(v string) string {
	i := strings.IndexAny(v, ":%")
	if i <= 0 || i+1 == len(v) || strings.HasPrefix(v[i:], "://") {
		return v
	}
	name, pass := v[:i], v[i+1:]
	if digits(name) && digits(pass) || name == pass { // ids of user and group
		return v
	}
	return v[:i+1] + Hidden
}

// word redacts a word without blanks outside quotes.
func (r *redactor) word(w string) string {
	bare := strings.TrimLeft(w, "'\"({[`$<")
	if separates(bare) {
		r.over()
		return w
	}
	// A command may begin right after what ends another.
	if i := strings.LastIndexAny(bare, ";|&"); i >= 0 && i+1 < len(bare) && !strings.ContainsAny(bare, "=:") {
		r.over()
		cut := len(w) - len(bare) + i + 1
		return r.plain(w[:cut]) + r.word(w[cut:])
	}
	var s string
	if strings.HasPrefix(bare, "-") && len(bare) > 1 {
		s = r.option(w, bare)
	} else {
		s = r.operand(w, bare)
	}
	if strings.HasSuffix(w, ";") || strings.HasSuffix(w, "|") || strings.HasSuffix(w, "&") {
		r.over()
	}
	return s
}

// over forgets the command that has ended.
func (r *redactor) over() {
	kept := slices.DeleteFunc(slices.Clone(r.active), func(p *program) bool { return !p.lasting })
	r.active, r.verbs, r.counts, r.echo = kept, nil, nil, false
	r.stage, r.values, r.shell, r.interprets, r.told, r.inner, r.behind = atProgram, "", false, false, false, nil, 0
}

// separates reports whether w ends a command.
func separates(w string) bool {
	switch w {
	case ";", "|", "||", "&&", "&", "|&", "then", "do", "else":
		return true
	}
	return false
}

// operand redacts a word that is no option.
func (r *redactor) operand(w, bare string) string {
	if r.echo && r.piped {
		return Hidden
	}
	if r.counted() {
		return Hidden
	}
	bare = strings.TrimRight(bare, "'\")}];`")
	name := programName(bare)
	judged := r.programmed(w, bare, name)
	if p := programs[name]; p != nil && !slices.Contains(r.active, p) {
		r.active = append(slices.Clip(r.active), p)
		r.begin("")
		return w
	}
	if len(r.verbs) < 16 {
		r.verbs = append(slices.Clip(r.verbs), strings.ToLower(bare))
	}
	if name == "echo" || name == "printf" || w == "<<<" {
		if r.echo = true; r.fed {
			r.stage = atProgram
		}
	}
	if r.begin(bare) {
		return w
	}
	if w == "<<<" && r.piped {
		r.next = secret
		return w
	}
	for _, p := range r.active {
		if m := slashLogin.FindStringSubmatch(w); p.slash && m != nil {
			return m[1] + Hidden + m[3]
		}
	}
	if bareName(bare) && !r.searching() {
		r.next = maybeSecret
		if judged && !named(bare) {
			return Hidden
		}
		return w
	}
	if judged {
		return r.judged(w)
	}
	return r.plain(w)
}

// searching reports whether a word may be a search term.
func (r *redactor) searching() bool {
	return slices.ContainsFunc(r.active, func(p *program) bool { return p.searches })
}

// begin starts the counts of secret places after word, if there are any.
func (r *redactor) begin(word string) (begun bool) {
	for i, p := range r.active {
		if word == "" && i+1 < len(r.active) {
			continue
		}
		for _, pl := range p.places {
			if pl.after == word {
				r.counts = append(slices.Clip(r.counts), pl)
				begun = true
			}
		}
	}
	return begun
}

// counted takes in a word and reports whether it is in a secret place.
func (r *redactor) counted() bool {
	hide := false
	counts := slices.Clone(r.counts)
	for i := range counts {
		switch c := &counts[i]; {
		case c.skip > 0:
			c.skip--
		case c.hide != 0:
			c.hide = max(c.hide-1, everyone)
			hide = true
		}
	}
	r.counts = slices.DeleteFunc(counts, func(c places) bool { return c.skip == 0 && c.hide == 0 })
	return hide
}

// plain redacts a word by its looks alone.
func (r *redactor) plain(w string) string {
	i := secretPair(w)
	if i < 0 {
		return looks(w)
	}
	if j := strings.Index(w, "://"); j >= 0 && j < i {
		return looks(w)
	}
	if rest := strings.Trim(w[i:], `'"`); rest == "" {
		r.next = maybeSecret // "password:" and its value in the next word
		return w
	} else if isPlainSource(rest) && !strings.ContainsAny(rest, ",;&") {
		return w
	}
	return strings.TrimSuffix(looks(w[:i]), Hidden) + Hidden
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// pipedSecret reports whether a command line passes a password through a pipe: echo SECRET |
// sudo -S.
func pipedSecret(argv []string) bool {
	for _, arg := range argv {
		if !strings.Contains(arg, "echo ") && !strings.Contains(arg, "printf ") && !strings.Contains(arg, "<<<") {
			continue
		}
		for _, taker := range []string{"sudo -S", "sudo -kS", "-stdin", "chpasswd", "passwd --stdin", "passphrase-fd", "cryptsetup", "htpasswd -i",
			"with-token", "secret create", "secret set", "secrets ", "kubectl apply", "smbpasswd -s", "kinit", "login", "askpass"} {
			if strings.Contains(arg, taker) {
				return true
			}
		}
	}
	return false
}

// shellWord cuts off the first word and the blanks after it. Quotes keep a word together; a
// quote that is never closed runs to the end.
func shellWord(s string) (word, gap, rest string) {
	i := 0
	var quote byte
	for ; i < len(s); i++ {
		c := s[i]
		if quote != 0 {
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		}
		switch c {
		case '\'', '"':
			quote = c
			continue
		case '\\':
			i++
			continue
		}
		if isBlank(c) {
			break
		}
	}
	i = min(i, len(s))
	j := i
	for j < len(s) && isBlank(s[j]) {
		j++
	}
	return s[:i], s[i:j], s[j:]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
