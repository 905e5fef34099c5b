package cmdline

import "strings"

// secretWords make a name secret if it has one of them as a word, in any place.
var secretWords = set("password passwd passphrase pass passwort pwd pw psk secret secrets token apikey credential credentials creds " +
	"bearer jwt passcode userpass userpwd upw opw vncpw authorization passkey mdp motdepasse contrasena kennwort requirepass masterauth")

// weakWords make a name secret only as its last word, and only values that could be a secret:
// keys are often named by the file that holds them.
var weakWords = set("key keys auth cookie cookies otp pin sas signature sig proxyauth session community webhook")

// weakFollowers may follow a weak word at the end of a name.
var weakFollowers = set("header string data base64 b64 value hex plain blob json str code text old new")

// secretParts make a name secret even within a word: keystorepass, authtoken, mysecret.
var secretParts = []string{"password", "passwd", "passphrase", "secret", "apikey", "credential", "privatekey", "accesskey"}

// keyOwners precede "key" in words written together: authkey, accountkey.
var keyOwners = set("auth api secret access private master account encrypt encryption sign signing storage shared stream " +
	"service license app session deploy bot admin user function subscription host function x pre")

// harmless last words name the place of the secret, or something about it, not the secret
// itself.
var harmless = set("file files path dir directory stdin fd prompt ask type method methods mode length size count policy timeout ttl " +
	"expiry algorithm alg bits name provider plugin required enabled store format usage authentication through eval command cmd " +
	"helper limit lifetime age rotation url uri endpoint server host port env var ref arn")

// public words say that a key or the like is no secret.
var public = set("public pub primary foreign sort partition hot")

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// A secrecy is how likely the value of a name is secret.
type secrecy uint8

const (
	open   secrecy = iota
	likely         // unless the value shows that it is none: a path, a switch
	certain
)

// secretName returns how likely the value of this name is secret.
func secretName(name string) secrecy {
	name = strings.Trim(name, "'\"\\`")
	ws := words(name)
	for len(ws) > 1 && digits(ws[len(ws)-1]) { // password1
		ws = ws[:len(ws)-1]
	}
	if len(ws) == 0 || ws[0] == "no" || ws[0] == "ask" || ws[0] == "stdin" || ws[0] == "prompt" {
		return open
	}
	last := strings.TrimRight(ws[len(ws)-1], "0123456789")
	if harmless[last] || last == "id" && len(ws) > 1 && ws[len(ws)-2] == "key" {
		return open
	}
	flat := strings.ToLower(name)
	for _, p := range secretParts {
		if strings.Contains(flat, p) {
			return certain
		}
	}
	for _, w := range ws {
		if secretWords[strings.TrimRight(w, "0123456789")] || longSecretWord(w) {
			return certain
		}
	}
	if len(ws) > 1 && weakFollowers[last] {
		ws = ws[:len(ws)-1]
		last = ws[len(ws)-1]
	}
	owner, isKey := strings.CutSuffix(last, "key")
	switch {
	case len(ws) > 1 && public[ws[len(ws)-2]]:
	case weakWords[last], isKey && keyOwners[owner]:
		return likely
	}
	return open
}

// longSecretWord reports whether a word ends in a secret one: mytoken, keystorepass.
func longSecretWord(w string) bool {
	w = strings.TrimRight(w, "0123456789")
	return len(w) > 5 && (strings.HasSuffix(w, "token") || strings.HasSuffix(w, "pass") && w != "bypass" && w != "compass" && w != "multipass")
}

// plainValue reports whether the value of a likely name is itself clearly no secret.
func plainValue(v string) bool {
	v = strings.Trim(v, `'"`)
	switch strings.ToLower(v) {
	case "true", "false", "yes", "no", "on", "off", "none", "auto", "null", "basic", "digest", "ntlm", "any", "always", "never", "default", "required", "optional":
		return true
	}
	if len(v) < 3 { // sort --key=2,3
		return true
	}
	if strings.HasPrefix(v, "/") || strings.HasPrefix(v, "@/") {
		return pathLike(v)
	}
	for _, prefix := range []string{"./", "../", "~/", "file:", "env:", "fd:", "@./", "$"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	for _, suffix := range []string{".pem", ".key", ".crt", ".cer", ".pub", ".p12", ".pfx", ".jks", ".json", ".txt", ".Xauthority"} {
		if strings.HasSuffix(v, suffix) {
			return true
		}
	}
	return false
}

// words splits a name at punctuation and where its case changes, in lower case.
func words(name string) []string {
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
		if !letter {
			flush(i)
			continue
		}
		upper := c >= 'A' && c <= 'Z'
		if start >= 0 && upper {
			before := name[i-1] >= 'A' && name[i-1] <= 'Z'
			after := i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'
			if !before || after {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(name))
	return out
}

// secretPair finds the first "name=" or "name:" in w whose name is secret and returns where its
// value begins, or -1. The value is all that follows, since secrets may hold any separator.
func secretPair(w string) int {
	begin := 0
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case c == '=' || c == ':':
			switch secretName(w[begin:i]) {
			case certain:
				return i + 1
			case likely:
				end := i + 1 + len(w[i+1:])
				if j := strings.IndexAny(w[i+1:], ",;&"); j >= 0 {
					end = i + 1 + j
				}
				if !plainValue(w[i+1:end]) || i+1 == len(w) {
					return i + 1
				}
			}
			begin = i + 1
		case strings.IndexByte(",;&?{[(/@# ", c) >= 0:
			begin = i + 1
		}
	}
	return -1
}

// bareName reports whether a word without a dash announces that the next one is a secret:
// "password S", "github.token S", "AWS_SECRET_ACCESS_KEY S". Single words count only if they
// hardly mean anything else.
func bareName(w string) bool {
	w = strings.TrimRight(strings.Trim(w, `'"`), "=:")
	switch strings.ToLower(w) {
	case "password", "passphrase", "psk", "bearer", "requirepass", "masterauth", "authtoken", "user_pw", "owner_pw", "input_pw", "passwort":
		return true
	}
	if strings.ContainsAny(w, "/ <>()\\") && !strings.HasPrefix(w, "//") {
		return false
	}
	if head, _, ok := strings.Cut(w, "."); ok && len(words(head)) > 1 && bareName(head) { // pypi-token.pypi
		return true
	}
	ws := words(w)
	if len(ws) < 2 {
		return false
	}
	last := ws[len(ws)-1]
	if secretWords[last] && last != "secret" && last != "secrets" || last == "key" && len(ws) > 2 || longSecretWord(last) {
		return true
	}
	owner, isKey := strings.CutSuffix(last, "key")
	return isKey && keyOwners[owner] || last == "key" && keyOwners[ws[len(ws)-2]]
}
