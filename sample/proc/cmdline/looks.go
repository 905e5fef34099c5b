package cmdline

import (
	"regexp"
	"strings"
)

// What is recognisable as a secret in any place.
var (
	// header and all after it, in an argument of its own or within quotes.
	header = regexp.MustCompile(`(?i)(?:^-H|^|[\s"'=])["']?(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?[a-z0-9-]*(?:api-?key|-key|token|secret|-auth|password)[a-z0-9-]*)["']?\s*:\s*(?:(?:bearer|basic|token|digest|negotiate|aws4-hmac-sha256)\s|[^/\s])`)
	// scheme is an authorization in running text.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic|negotiate)\s+["']?[A-Za-z0-9+/=._~-]{8,}`)
	// user:password@ or token@ between the scheme and the host. A password may hold any of the
	// characters that end a host, even an @.
	urlCredentials = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/@\s?#]*@|[^/@\s?#:]*:[^\s]*@)`)
	// The same without a scheme: user:password@host, //user:password@host,
	// domain/user:password@host.
	userHost = regexp.MustCompile(`^((?://)?(?:[^\s:/@=]+[/\\;])?[^\s:/@=]+:)([^\s/@][^\s]*)@`)
	// openssl's way to name a password, Windows' and FreeRDP's way to give one.
	passFrom = regexp.MustCompile(`(?i)^(["']?pass:|/(?:p|gp|pw|pass|pwd|password):)`)
	// cvs's :pserver:user:password@host.
	pserver = regexp.MustCompile(`^(:(?:pserver|ext|gserver)[^:]*:[^:@\s]*:)([^@\s]*)@`)
	// An element of XML.
	element   = regexp.MustCompile(`(?i)(<[a-z0-9:_-]*(?:password|passwd|secret|token|apikey|credential)[a-z0-9:_-]*>)[^<]+`)
	queryPair = regexp.MustCompile(`([?&;#])([^=&;#\s]+)=([^&;#\s]*)`)
	// Addresses whose path is the secret.
	webhook = regexp.MustCompile(`(?i)(hooks\.slack\.com/(?:services|workflows|triggers)/` +
		`|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/|webhook\.office\.com/webhookb2/|outlook\.office(?:365)?\.com/webhook/` +
		`|api\.telegram\.org/(?:file/)?bot|hooks\.zapier\.com/hooks/catch/|hook(?:\.[a-z0-9]+)?\.(?:make|integromat)\.com/` +
		`|events\.pagerduty\.com/integration/|maker\.ifttt\.com/.*/key/|hc-ping\.com/|webhook\.site/|ntfy\.sh/|api\.pushcut\.io/` +
		`|open\.feishu\.cn/open-apis/bot/v2/hook/|open\.larksuite\.com/open-apis/bot/v2/hook/|alert\.victorops\.com/integrations/generic/` +
		`|(?:[a-z0-9.-]+/)hooks/(?:catch/)?(?:[a-z0-9]{20,}))[^\s"'?]*`)
	// The last part of a live stream's address is its key.
	stream = regexp.MustCompile(`(?i)(\brtmps?://[^\s"']+/)([^/\s"']{8,})`)
	// name/password@database
	slashLogin = regexp.MustCompile(`^([A-Za-z0-9_$#.]+/)([^@/\s]+)(@\S*)?$`)
)

// looks hides the recognisable secrets in w.
func looks(w string) string {
	if slash := strings.IndexByte(w, '/'); slash >= 0 {
		if webhookPart(w) {
			w = webhook.ReplaceAllStringFunc(w, func(m string) string { return webhook.FindStringSubmatch(m)[1] + Hidden })
		}
		if strings.Contains(w, "://") {
			w = hideQuery(urlUser(w))
			w = stream.ReplaceAllString(w, "${1}"+Hidden)
		}
	}
	if strings.IndexByte(w, '<') >= 0 {
		w = element.ReplaceAllString(w, "${1}"+Hidden)
	}
	w = hideScheme(w)
	if m := passFrom.FindStringIndex(w); m != nil {
		return w[:m[1]] + Hidden
	}
	if strings.IndexByte(w, '@') > 0 && strings.IndexByte(w, ':') >= 0 {
		w = pserver.ReplaceAllString(w, "${1}"+Hidden+"@")
		w = userHost.ReplaceAllString(w, "${1}"+Hidden+"@")
	}
	return hideRandom(hideTokens(w))
}

// hideScheme hides what follows the scheme of an authorization.
func hideScheme(s string) string {
	if strings.IndexByte(s, ' ') < 0 {
		return s
	}
	return scheme.ReplaceAllString(s, "${1} "+Hidden)
}

// webhookPart is a cheap test for addresses that may match webhook.
func webhookPart(w string) bool {
	for _, part := range []string{"hook", "telegram.", "pagerduty.", "ifttt.", "hc-ping.", "ntfy.", "pushcut.", "victorops."} {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}

// urlUser hides the credentials in a URL. A user name alone before a host may be a token
// (https://TOKEN@host), so only ssh-like schemes keep it.
func urlUser(w string) string {
	return urlCredentials.ReplaceAllStringFunc(w, func(m string) string {
		scheme := m[:strings.Index(m, "://")+3]
		user := m[len(scheme) : len(m)-1]
		if i := strings.IndexByte(user, ':'); i >= 0 {
			// What precedes the colon may be the token (TOKEN:x-oauth-basic@).
			return scheme + hideRandom(hideTokens(user[:i])) + ":" + Hidden + "@"
		}
		switch strings.ToLower(scheme) {
		case "ssh://", "sftp://", "git+ssh://", "svn+ssh://", "rsync://", "vnc://", "afp://", "smb://":
			return m
		}
		return scheme + Hidden + "@"
	})
}

func hideQuery(w string) string {
	return queryPair.ReplaceAllStringFunc(w, func(m string) string {
		i := strings.IndexByte(m, '=')
		if name := m[1:i]; secretName(name) != open || name == "code" || name == "X-Amz-Credential" {
			return m[:i+1] + Hidden
		}
		return m
	})
}

// hideRandom hides what looks random: long runs in which capitals, small letters and digits
// alternate as they do in base64 and never in words. Digests, identifiers and the names of
// temporary files have letters of only one case.
func hideRandom(w string) string {
	if len(w) < shortestRandom || strings.HasPrefix(w, "AAAA") {
		return w
	}
	var b strings.Builder
	for i := 0; i < len(w); {
		if !randomByte(w[i]) {
			b.WriteByte(w[i])
			i++
			continue
		}
		j := i
		for j < len(w) && randomByte(w[j]) {
			j++
		}
		run := w[i:j]
		switch {
		case digest(w[:i]):
			b.WriteString(run)
		case len(run) >= shortestRandom && looksRandom(run):
			b.WriteString(Hidden)
		case secretOfForty(w, i):
			b.WriteString(Hidden)
			j = i + 40
		default:
			b.WriteString(run)
		}
		i = j
	}
	return b.String()
}

const shortestRandom = 24

func randomByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+'
}

// digest reports whether the text before a word announces it as a checksum.
func digest(before string) bool {
	before = strings.ToLower(strings.TrimRight(before, "-:="))
	return strings.HasSuffix(before, "sha256") || strings.HasSuffix(before, "sha512") || strings.HasSuffix(before, "sha384") || strings.HasSuffix(before, "sha1")
}

// secretOfForty reports whether an Amazon secret key begins at w[i]: forty characters of
// base64, slashes included, with no such character before or after.
func secretOfForty(w string, i int) bool {
	if i > 0 && (w[i-1] == '/' || w[i-1] == '.') || len(w) < i+40 {
		return false
	}
	run := w[i : i+40]
	for j := 0; j < len(run); j++ {
		if !randomByte(run[j]) && run[j] != '/' || run[j] == '-' || run[j] == '_' {
			return false
		}
	}
	if len(w) > i+40 && (randomByte(w[i+40]) || w[i+40] == '/' || w[i+40] == '.') {
		return false
	}
	return strings.Contains(run, "/") && looksRandom(strings.ReplaceAll(run, "/", ""))
}

// looksRandom reports whether the kind of character changes as often as in base64, two times in
// three; in names it is one time in four.
func looksRandom(s string) bool {
	if strings.HasPrefix(s, "AAAAB3Nza") || strings.HasPrefix(s, "AAAAC3Nza") || strings.HasPrefix(strings.ToLower(s), "sha") && strings.Contains(s[:min(8, len(s))], "-") {
		return false
	}
	var kinds [4]int
	changes, last := 0, -1
	for i := 0; i < len(s); i++ {
		k := 3
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			k = 0
		case c >= 'A' && c <= 'Z':
			k = 1
		case c >= '0' && c <= '9':
			k = 2
		}
		kinds[k]++
		if k != last {
			changes++
		}
		last = k
	}
	return kinds[0] >= 4 && kinds[1] >= 4 && kinds[2] >= 2 && kinds[3] <= len(s)/6 && changes*100 >= len(s)*42
}
