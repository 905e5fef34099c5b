package cmdline

import "strings"

// secretWords make a name secret wherever they stand in it as a word.
var secretWords = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "pass": true, "passwort": true, "pwd": true, "pw": true, "psk": true,
	"secret": true, "secrets": true, "token": true, "apikey": true, "credential": true, "credentials": true, "creds": true,
	"auth": true, "authorization": true, "bearer": true, "jwt": true, "cookie": true, "otp": true, "pin": true,
	"sas": true, "signature": true, "sig": true, "key": true, "passcode": true, "userpass": true, "userpwd": true,
}

// secretParts make a name secret even in the middle of a word: keystorepass,
// authtoken, mysecret.
var secretParts = []string{"password", "passwd", "passphrase", "secret", "apikey", "credential", "privatekey", "accesskey"}

// harmless last words name where the secret is, or something about it, not the
// secret itself.
var harmless = map[string]bool{
	"file": true, "files": true, "path": true, "dir": true, "directory": true, "stdin": true, "fd": true, "prompt": true, "ask": true,
	"type": true, "method": true, "methods": true, "mode": true, "length": true, "size": true, "count": true, "policy": true,
	"timeout": true, "ttl": true, "expiry": true, "algorithm": true, "alg": true, "bits": true, "name": true,
	"provider": true, "plugin": true, "required": true, "enabled": true, "store": true, "format": true, "usage": true,
}

// secretName reports whether a value that goes by this name is likely secret.
func secretName(name string) bool {
	name = strings.Trim(name, `'"`)
	ws := words(name)
	if len(ws) == 0 || ws[0] == "no" || harmless[ws[len(ws)-1]] {
		return false
	}
	flat := strings.ToLower(name)
	for _, p := range secretParts {
		if strings.Contains(flat, p) {
			return true
		}
	}
	for _, w := range ws {
		if secretWords[w] || len(w) > 5 && (strings.HasSuffix(w, "token") || strings.HasSuffix(w, "pass") && w != "bypass" && w != "compass") {
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

// secretPair finds the first "name=" or "name:" in w whose name is secret and
// returns where its value begins, or -1. Everything from there on is taken for
// the value, since secrets may hold any separator.
func secretPair(w string) int {
	begin := 0
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case c == '=' || c == ':':
			if secretName(w[begin:i]) {
				return i + 1
			}
			begin = i + 1
		case c == ',' || c == ';' || c == '&' || c == '?' || c == '{' || c == '[' || c == '(' || c == '/' || c == '@' || c == '#' || c == ' ':
			begin = i + 1
		}
	}
	return -1
}
