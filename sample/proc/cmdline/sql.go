package cmdline

import (
	"regexp"
	"strings"
)

// Statements in the languages of databases.
var (
	// The name of a secret, and a text in quotes after it.
	quotedSecret = regexp.MustCompile(`(?i)(\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)|[a-z_-]*(?:password|passphrase|passwd|pwd|secret|token|key))["']?\s*(?:for\s+\S+\s*)?[=:]?\s*(?:password\s*\(\s*)?[ne]?\\*)(?:'[^']*'?|"[^"]*"?)`)
	// Oracle takes passwords without quotes.
	identifiedBy = regexp.MustCompile(`(?i)(\bidentified\s+by\s+)[^\s'"\\][^\s;]*`)
	// Functions that take a secret among their arguments.
	secretCall = regexp.MustCompile(`(?i)\b(aes_encrypt|aes_decrypt|pgp_sym_\w+|crypt|encrypt|decrypt|hmac|s3|s3cluster|gcs|azureblobstorage|mysql|postgresql|mongodb|remote|add_parquet_key|auth|changeuserpassword)\(.*`)
)

// hideSQL hides the secrets in a statement.
func hideSQL(s string) string {
	if strings.IndexByte(s, ' ') < 0 && strings.IndexByte(s, '(') < 0 && strings.IndexByte(s, '=') < 0 || !strings.ContainsAny(s, `'"(`) && !strings.Contains(strings.ToLower(s), "identified") {
		return s
	}
	s = quotedSecret.ReplaceAllString(s, "${1}"+Hidden)
	s = identifiedBy.ReplaceAllString(s, "${1}"+Hidden)
	if strings.ContainsAny(s, `'"`) {
		s = secretCall.ReplaceAllString(s, "${1}("+Hidden)
	}
	return s
}
