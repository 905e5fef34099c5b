package cmdline

import (
	"path"
	"regexp"
	"strings"
)

// Hidden stands where a secret stood.
const Hidden = "***"

// Redact returns argv with the values of whatever looks like a secret
// replaced. It errs on the side of hiding: a port taken for a password costs a
// glance at the machine, a password taken for a port costs the password.
func Redact(argv []string) []string {
	out := make([]string, len(argv))
	r := redactor{}
	for i, arg := range argv {
		if i == 0 {
			r.program = programName(arg)
		}
		out[i] = r.arg(arg)
	}
	return out
}

func programName(arg string) string {
	return strings.ToLower(strings.TrimPrefix(path.Base(strings.TrimSpace(arg)), "-"))
}

type redactor struct {
	program string
	next    bool // the next word is the value of a secret option
}

// arg redacts one argument, which may itself hold a whole command ("sh -c") or
// a title that a process has given itself.
func (r *redactor) arg(arg string) string {
	if r.next {
		return r.hide(arg)
	}
	if m := header.FindStringIndex(arg); m != nil {
		return arg[:m[1]] + Hidden
	}
	if strings.Contains(arg, "PRIVATE KEY-----") {
		return Hidden
	}
	if !strings.ContainsAny(arg, " \t\r\n") {
		return r.word(arg)
	}
	var b strings.Builder
	inner := redactor{program: r.program}
	first := true
	for rest := arg; rest != ""; {
		word, gap, after := shellWord(rest)
		if word != "" {
			if first && !strings.HasPrefix(word, "-") {
				inner.program = programName(word)
			}
			first = strings.HasSuffix(word, ";") || word == "|" || word == "&&" || word == "||"
			b.WriteString(inner.value(word))
		}
		b.WriteString(gap)
		rest = after
	}
	r.next = inner.next
	return b.String()
}

func (r *redactor) value(word string) string {
	if r.next {
		return r.hide(word)
	}
	return r.word(word)
}

// hide replaces the value of a secret option. The scheme of an authorization
// is not the secret: that comes after it.
func (r *redactor) hide(value string) string {
	switch strings.ToLower(value) {
	case "bearer", "basic", "token", "digest", "negotiate":
		return value
	}
	r.next = false
	return Hidden
}

// shellWord cuts the first word and the blanks after it. Quotes hold a word
// together; a quote that is never closed runs to the end.
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

// word redacts a word without blanks outside quotes.
func (r *redactor) word(w string) string {
	bare := strings.TrimLeft(w, `'"({[`)
	if strings.HasPrefix(bare, "-") {
		if s, done := r.option(w, bare); done {
			return s
		}
	}
	if i := secretPair(w); i >= 0 {
		if strings.Contains(w[:i], "://") {
			return urlUser(hideQuery(w))
		}
		if i == len(w) {
			r.next = w[i-1] == ':' // "password:" and its value in the next word
			return w
		}
		return urlUser(w[:i]) + Hidden
	}
	w = urlUser(w)
	if m := passFrom.FindStringIndex(w); m != nil {
		return w[:m[1]] + Hidden
	}
	return tokens.ReplaceAllString(userHost.ReplaceAllString(w, "${1}"+Hidden+"@"), Hidden)
}

// option handles words that begin with a dash. done is false when nothing
// about the option itself is secret, so that its value wants another look.
func (r *redactor) option(w, bare string) (s string, done bool) {
	lead := len(w) - len(bare)
	name := strings.TrimLeft(bare, "-")
	dashes := len(bare) - len(name)
	if i := strings.IndexAny(name, "=:"); i >= 0 {
		if secretName(name[:i]) {
			return w[:lead+dashes+i+1] + Hidden, true
		}
	} else if secretName(name) {
		r.next = true
		return w, true
	}
	if dashes != 1 || name == "" {
		return "", false
	}
	// Short options: the value is the next word or hangs on the letter.
	for _, o := range shortOptions[r.program] {
		if !strings.HasPrefix(name, o.name) {
			continue
		}
		if len(name) > len(o.name) {
			return w[:lead+1+len(o.name)] + Hidden, true
		}
		r.next = !o.attachedOnly
		return w, true
	}
	if name[0] == 'p' && len(name) > 1 && !digits(name[1:]) && !strings.ContainsAny(name[1:2], "=:") && !longWord(name) {
		return w[:lead+2] + Hidden, true
	}
	return "", false
}

// longWord reports whether what follows a single dash is an option written out
// in full, as X and Go programs have it, rather than a letter and its value.
func longWord(name string) bool { return plainOptions[name] }

var plainOptions = map[string]bool{
	"path": true, "port": true, "pid": true, "print": true, "prefix": true, "prune": true, "perm": true,
	"pipe": true, "pthread": true, "pedantic": true, "profile": true, "project": true, "package": true,
	"parallel": true, "plugin": true, "policy": true, "protocol": true, "proxy": true, "psn_0_0": true,
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

type shortOption struct {
	name         string
	attachedOnly bool
}

// shortOptions are the one-letter options that take a secret, by program.
var shortOptions = func() map[string][]shortOption {
	m := map[string][]shortOption{}
	add := func(o shortOption, programs ...string) {
		for _, p := range programs {
			m[p] = append(m[p], o)
		}
	}
	add(shortOption{"p", true}, "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlslap",
		"mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "7zr", "rar", "unrar")
	add(shortOption{"hp", true}, "rar", "unrar")
	add(shortOption{"p", false}, "sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "docker", "podman",
		"nerdctl", "kinit", "az", "heroku", "rabbitmqadmin", "cqlsh", "influx")
	add(shortOption{"P", false}, "zip", "unzip", "mosquitto_pub", "mosquitto_sub", "sqlcmd", "bcp", "ipmitool", "pscp", "plink")
	add(shortOption{"pw", false}, "plink", "pscp", "psftp", "putty")
	add(shortOption{"w", false}, "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami")
	add(shortOption{"a", false}, "redis-cli", "valkey-cli", "keydb-cli")
	add(shortOption{"u", false}, "curl")
	add(shortOption{"U", false}, "curl", "smbclient", "rpcclient", "net")
	add(shortOption{"b", false}, "curl")
	add(shortOption{"K", false}, "openssl")
	add(shortOption{"k", false}, "openssl")
	add(shortOption{"passin", false}, "openssl")
	add(shortOption{"passout", false}, "openssl")
	add(shortOption{"storepass", false}, "keytool", "jarsigner")
	add(shortOption{"keypass", false}, "keytool", "jarsigner")
	add(shortOption{"w", false}, "security")
	return m
}()

var (
	header = regexp.MustCompile(`(?i)^\s*(?:-H|--header=?)?\s*["']?(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]*(?:key|token|secret|auth|password)[a-z0-9-]*)["']?\s*:\s*`)
	// user:password@ or token@ between the scheme and the host.
	urlCredentials = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/@\s?#]*@)`)
	// The same without a scheme: user:password@host.
	userHost = regexp.MustCompile(`^([^\s:/@=]+:)([^\s/@]+)@`)
	// openssl's way to name a password.
	passFrom = regexp.MustCompile(`(?i)^["']?pass:`)
	// Tokens whose issuer made them recognisable.
	tokens = regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}` +
		`|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bsk-[A-Za-z0-9_-]{16,}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}` +
		`|\bAIza[0-9A-Za-z_-]{30,}|\bya29\.[0-9A-Za-z_-]{20,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`)
	queryPair = regexp.MustCompile(`([?&;#])([^=&;#\s]+)=([^&;#\s]*)`)
)

// urlUser hides the credentials in a URL; a user name alone before a host may
// be a token (https://TOKEN@host), so only ssh-like schemes keep it.
func urlUser(w string) string {
	return urlCredentials.ReplaceAllStringFunc(w, func(m string) string {
		scheme := m[:strings.Index(m, "://")+3]
		user := m[len(scheme) : len(m)-1]
		if i := strings.IndexByte(user, ':'); i >= 0 {
			return scheme + user[:i+1] + Hidden + "@"
		}
		switch strings.ToLower(scheme) {
		case "ssh://", "sftp://", "git+ssh://", "svn+ssh://", "rsync://", "vnc://":
			return m
		}
		return scheme + Hidden + "@"
	})
}

func hideQuery(w string) string {
	return queryPair.ReplaceAllStringFunc(w, func(m string) string {
		i := strings.IndexByte(m, '=')
		if secretName(m[1:i]) {
			return m[:i+1] + Hidden
		}
		return m
	})
}
