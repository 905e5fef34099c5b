package cmdline

import (
	"regexp"
	"strings"
)

// An issuer marks its tokens with a prefix.
type issuer struct {
	prefix string
	least  int // least number of bytes after the prefix
	class  string
	exact  bool // exactly least, and no more
}

const (
	hex     = "0123456789abcdef"
	capital = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	small   = "0123456789abcdefghijklmnopqrstuvwxyz"
	alnum   = capital + "abcdefghijklmnopqrstuvwxyz"
	word    = alnum + "_"
	dashed  = word + "-"
	dotted  = dashed + "."
	base64  = dashed + "+/="
)

// issuers are the issuers of common tokens, by the first byte of the prefix.
var issuers = func() (index [256][]issuer) {
	add := func(least int, class string, prefixes ...string) {
		for _, p := range prefixes {
			index[p[0]] = append(index[p[0]], issuer{prefix: p, least: least, class: class})
		}
	}
	exactly := func(n int, class string, prefixes ...string) {
		for _, p := range prefixes {
			index[p[0]] = append(index[p[0]], issuer{prefix: p, least: n, class: class, exact: true})
		}
	}
	exactly(16, capital, "AKIA", "ASIA", "ABIA", "ACCA") // Amazon
	add(16, word, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")
	add(16, dotted, "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-", "glwt-")
	add(10, dashed, "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-",
		"tskey-auth-", "tskey-api-", "tskey-client-", "tskey-scim-", "tskey-webhook-")
	add(16, dashed, "sk-", "GOCSPX-", "ya29.", "AKID", "nvapi-", "pypi-", "dckr_pat_", "dckr_oat_", "AQVN")
	add(10, alnum, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "LTAI")
	add(16, base64, "whsec_", "ATATT3", "ATBB", "BBDC-", "sntrys_", "sntryu_", "FlyV1 ", "fm1_", "fm2_", "ops_eyJ", "glc_", "glsa_", "EAACEdEose0cBA")
	add(30, dashed, "AIza")
	add(20, dashed, "1//0", "sq0atp-", "sq0csp-", "sq0idp-", "figd_", "NRII-", "CFPAT-", "CCIPAT_", "PMAK-")
	add(16, alnum, "npm_", "hf_", "r8_", "gsk_", "xai-", "pplx-", "lin_api_", "lin_oauth_", "nfp_", "phx_", "vcp_", "vck_", "ntn_")
	add(30, hex, "rubygems_", "dop_v1_", "doo_v1_", "dor_v1_", "dapi", "pul-", "sbp_", "bkua_")
	exactly(32, hex, "key-", "SK", "R_")
	exactly(43, small, "oy2")
	exactly(32, alnum, "cio")
	exactly(24, alnum, "s.", "b.")
	add(16, dashed, "hvs.", "hvb.", "hvr.")
	add(40, alnum, "EAA", "secret_")
	add(20, hex+"ABCDEF", "shpat_", "shpss_", "shpca_", "shppa_")
	add(20, capital, "NRAK-", "AGE-SECRET-KEY-1")
	add(20, dotted, "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.")
	add(30, dotted, "SG.", "amzn.mws.", "v1.0-", "sk.eyJ", "pk.eyJ")
	add(30, alnum, "EZAK", "EZTK")
	add(20, small+"$", "access_token$production$")
	add(30, base64+".", "eyJ") // JSON in base64, and signed JSON
	add(12, dotted, "eyJ")
	return index
}()

// Tokens that are recognised by their middle.
var middles = []struct {
	part  string
	token *regexp.Regexp
}{
	{".atlasv1.", regexp.MustCompile(`[A-Za-z0-9]{10,}\.atlasv1\.[A-Za-z0-9_=-]{20,}`)},
	{":AA", regexp.MustCompile(`\b\d{8,10}:AA[A-Za-z0-9_-]{30,}`)},
	{"-us", regexp.MustCompile(`\b[0-9a-f]{32}-us\d{1,2}\b`)},
	{".", regexp.MustCompile(`\b[MNO][A-Za-z0-9_-]{22,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}`)},
}

// shortestToken is the length of the shortest token that any issuer makes.
const shortestToken = 14

// hideTokens hides tokens with a recognisable form. It looks at every word of every command
// line that starts, so it uses a table and not one large expression.
func hideTokens(s string) string {
	if len(s) < shortestToken {
		return s
	}
	for _, m := range middles {
		if (m.part != "." || strings.Count(s, ".") > 1 && len(s) > 50) && strings.Contains(s, m.part) {
			s = m.token.ReplaceAllString(s, Hidden)
		}
	}
	var b strings.Builder
	from := 0
	for i := 0; i+shortestToken <= len(s); i++ {
		if issuers[s[i]] == nil || i > 0 && wordByte(s[i-1]) {
			continue
		}
		if n := issued(s[i:]); n > 0 {
			b.WriteString(s[from:i])
			b.WriteString(Hidden)
			from = i + n
			i = from - 1
		}
	}
	if from == 0 {
		return s
	}
	return b.String() + s[from:]
}

// issued returns the length of the token at the start of s, 0 if there is none.
func issued(s string) int {
	for _, is := range issuers[s[0]] {
		if !strings.HasPrefix(s, is.prefix) {
			continue
		}
		n := len(is.prefix)
		for n < len(s) && strings.IndexByte(is.class, s[n]) >= 0 {
			n++
		}
		if got := n - len(is.prefix); got < is.least || is.exact && (got > is.least || n < len(s) && wordByte(s[n])) || is.prefix == "eyJ" && is.least < 30 && strings.Count(s[:n], ".") == 0 {
			continue
		}
		return n
	}
	return 0
}

func wordByte(c byte) bool { return letterOrDigit(c) || c == '_' }
