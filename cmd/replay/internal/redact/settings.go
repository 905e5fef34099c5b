package redact

import (
	"regexp"
	"strings"
	"sync"

	"tachograph/config"
)

// Config maps the recorder's configuration. Settings that are numbers, times or the recorder's
// own words stay; everything else is hidden, including comments.
func (m *Mapping) Config(toml string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	section := ""
	for line := range strings.Lines(toml) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "["):
			name := strings.Trim(line, "[] ")
			if section = ""; settingName(name) {
				section = name
				b.WriteString(line + "\n")
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || section == "" || !settingName(key) {
			continue // a part of a value of several lines, or not a setting of the recorder
		}
		b.WriteString(key + " = " + m.setting(section+"."+key, strings.TrimSpace(value)) + "\n")
	}
	return b.String()
}

// settingName reports whether s can be the name of a setting or of its section, that is,
// consists of the recorder's words.
func settingName(s string) bool {
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '_' }) {
		if !ownWord(w) {
			return false
		}
	}
	return s != ""
}

var (
	plainSetting = pattern(`"?(true|false|off|on|full|redacted|text|json|debug|info|warn|error|[a-z]{0,16}|[+-]?\d+(\.\d+)?[%a-zA-Z]{0,3}|(\d+[a-z]{1,2})+|[-0-9*/, ]+)"?|\[\]`)
	metricGlob   = pattern(`[A-Za-z0-9_.*?]+`)
	quotedTexts  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(\\.|[^"\\])*"|'[^']*'|[^]["', ]+`) })
)

// fitsKnown reports whether a pattern for metric names matches a generally known metric: then it
// reveals no more than that name.
func fitsKnown(glob string) bool {
	if !metricGlob(glob) {
		return false
	}
	for name := range described() {
		if config.Match(glob, name) {
			return true
		}
	}
	return false
}

// setting maps the value of a setting, as in TOML or in an event.
func (m *Mapping) setting(path, value string) string {
	bare := strings.Trim(value, `"`)
	quoted := func(s string) string {
		if strings.HasPrefix(value, `"`) {
			return `"` + s + `"`
		}
		return s
	}
	switch {
	case bare == "" || value == "[]":
		return value
	case path == "archive.dir":
		return quoted(m.mountPoint(bare))
	case path == "archive.group":
		return quoted(m.group(bare))
	case path == "process.threads" || path == "archive.on_finish":
		if strings.HasPrefix(value, "[]") {
			return "[]"
		}
		return `["redacted"]`
	case path == "rule.match":
		return quotedTexts().ReplaceAllStringFunc(value, func(p string) string {
			if fitsKnown(strings.Trim(p, `"`)) {
				return p
			}
			return `"redacted"`
		})
	case plainSetting(value) && !strings.ContainsFunc(bare, isLetter), plainSetting(value) && ownWords(bare), isNumber(bare):
		return value
	}
	return quoted("redacted")
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
