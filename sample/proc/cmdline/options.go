package cmdline

import (
	"slices"
	"strings"
)

// option redacts a word that begins with a dash.
func (r *redactor) option(w, bare string) string {
	name := strings.TrimLeft(bare, "-")
	dashes := len(bare) - len(name)
	lead := w[:len(w)-len(name)]
	name, tail := strings.TrimRight(name, "'\";)`"), name[len(strings.TrimRight(name, "'\";)`")):]
	if name == "" {
		return w
	}
	if r.stage == known {
		r.enter(bare)
	}
	r.told = r.stage == unknown && tellingOption(name) || r.stage == atProgram && r.valueNext(name, dashes)
	if r.begin(name) {
		return w
	}
	if dashes == 1 {
		if s, done := r.short(name); done {
			return lead + s + tail
		}
	}
	i := strings.IndexAny(name, "=:")
	r.told = r.told && i < 0
	if long := strings.TrimRight(name[:max(i, 0)], "="); r.stage == unknown && (!named(long) || dashes > 1 && i < 0 && !named(name)) {
		return lead + Hidden
	}
	if i < 0 {
		switch {
		case r.ownWord(name):
			r.next = secret
		case userOption(name):
			r.next = userAndPass
		case assigning[name] || r.assigns(name):
			r.next = assignment
		case r.passes(name):
			r.next = arguments
		default:
			switch secretName(name) {
			case certain:
				r.next = secret
			case likely:
				r.next = maybeSecret
			}
		}
		if dashes == 1 && r.stage == unknown && r.next == nothing && !r.told {
			name = stuck(name)
		}
		return hideTokens(lead+name) + tail
	}
	option, value := name[:i], name[i+1:]
	if p := programs[programName(value)]; p != nil && !slices.Contains(r.active, p) {
		r.active = append(slices.Clip(r.active), p) // --rsh=sshpass
	}
	switch {
	case secretName(option) == certain, r.ownWord(option), secretName(option) == likely && !plainValue(value):
		if isPlainSource(value) {
			return w
		}
		return lead + name[:i+1] + Hidden
	case userOption(option):
		return lead + name[:i+1] + hideAfterUser(value) + tail
	}
	if dashes == 1 && option != "" && strings.IndexByte("DPe", option[0]) >= 0 {
		// -Dname=value, -Pname=value, -eNAME=value
		if r.stage != known || r.assigns(option[:1]) {
			return lead + option[:1] + r.judged(name[1:]) + tail
		}
		return lead + option[:1] + r.plain(name[1:]) + tail
	}
	if assigning[option] && strings.Contains(value, "=") {
		return lead + name[:i+1] + r.judged(value) + tail
	}
	if s := r.operandValue(value); r.stage != unknown || s != value || familiar(value) || tellingOption(option) {
		return lead + name[:i+1] + s + tail
	}
	return lead + name[:i+1] + Hidden + tail
}

// valueNext reports whether the next word is the value of this option of a wrapping program: of
// the last of some letters, or of a long option.
func (r *redactor) valueNext(name string, dashes int) bool {
	if dashes > 1 {
		return !r.flags && (tellingOption(name) || assigning[name])
	}
	i := strings.IndexAny(name, r.values)
	return i >= 0 && i == len(name)-1
}

// assigns reports whether an active program assigns by an option with that letter.
func (r *redactor) assigns(letter string) bool {
	return len(letter) == 1 && slices.ContainsFunc(r.active, func(p *program) bool { return strings.Contains(p.assigns, letter) })
}

// sets reports whether an active program assigns to names that users choose.
func (r *redactor) sets() bool {
	return slices.ContainsFunc(r.active, func(p *program) bool {
		return p.sets && r.armed(p)
	})
}

// passes reports whether the value of an option is the arguments of another program.
func (r *redactor) passes(option string) bool {
	return slices.ContainsFunc(r.active, func(p *program) bool { return slices.Contains(p.passes, strings.TrimLeft(option, "-")) })
}

// passed redacts the arguments of an unknown program.
func (r *redactor) passed(value string) string {
	nested := redactor{active: r.active, piped: r.piped, stage: unknown}
	return nested.arg(value)
}

// operandValue redacts the value after "--option=".
func (r *redactor) operandValue(v string) string {
	if s, done := hideHeader(v); done {
		return s
	}
	return r.plain(v)
}

// userOption reports whether an option's value may be name:password in any program.
func userOption(name string) bool {
	switch strings.ToLower(name) {
	case "u", "user", "proxy-user", "username", "login", "creds", "src-creds", "dest-creds", "basic-auth", "userinfo":
		return true
	}
	return false
}

// ownWord reports whether an active program has a secret option of that name.
func (r *redactor) ownWord(name string) bool {
	for _, p := range r.active {
		if slices.Contains(p.words, name) && r.armed(p) {
			return true
		}
	}
	return false
}

func (r *redactor) armed(p *program) bool { return p.verb == "" || slices.Contains(r.verbs, p.verb) }

// short redacts one-letter options, the last of which may have its value attached. It returns
// false if none of them is secret.
func (r *redactor) short(name string) (string, bool) {
	if len(name) > 2 && secretWords[name] {
		return "", false // influx's -password
	}
	for _, p := range r.active {
		if p.whole || !r.armed(p) {
			continue
		}
		for _, word := range p.words { // rar's -hpSECRET
			if len(name) > len(word) && len(word) == 2 && strings.HasPrefix(name, word) {
				return word + Hidden, true
			}
		}
	letters:
		for k := 0; k < len(name); k++ {
			c := name[k]
			value := name[k+1:]
			switch {
			case strings.IndexByte(p.letters, c) >= 0 && value == "":
				r.next = shortSecret
				return name, true
			case strings.IndexByte(p.letters, c) >= 0, strings.IndexByte(p.hanging, c) >= 0 && value != "":
				if c == 'u' || c == 'U' {
					if s := hideAfterUser(value); s != value {
						return name[:k+1] + s, true
					}
				}
				return name[:k+1] + Hidden, true
			case strings.IndexByte(p.values, c) >= 0, !letterOrDigit(c):
				break letters
			}
			r.begin(string(c))
		}
	}
	if (name[0] == 'u' || name[0] == 'U') && strings.IndexByte(name, ':') > 1 {
		if s := hideAfterUser(name[1:]); s != name[1:] {
			return name[:1] + s, true
		}
	}
	if name[0] == 'p' && hangingPassword(name[1:]) {
		return "p" + Hidden, true
	}
	return "", false
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// hangingPassword guesses whether what is attached to the -p of an unknown program is a
// password rather than the rest of a word (-path, -processor) or more letters (tar -pxzf):
// words and letters are small, and have no digits or signs.
func hangingPassword(v string) bool {
	if len(v) < 4 || digits(v) || strings.ContainsAny(v[:1], "=:/.~,") || plainOptions["p"+v] || strings.HasPrefix(v, "sn_") { // launchd's -psn_0_12345
		return false
	}
	for i := 0; i < len(v); i++ {
		if c := v[i]; (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return !strings.ContainsAny(v, "=:/")
		}
	}
	return false
}

// plainOptions begin with -p, have more than small letters, and hold no password.
var plainOptions = map[string]bool{"print0": true, "prefsLen": true, "prefMapSize": true, "prefsHandle": true, "prefMapHandle": true, "parentBuildID": true}

// stuck hides what is attached to the letter of an unknown program's option, unless it is a
// word or its form shows that it is no secret.
func stuck(name string) string {
	letters := strings.IndexFunc(name, func(c rune) bool { return c >= '0' && c <= '9' }) < 0
	if len(name) <= 1+shortWord || plainOptions[name] || letters && named(name) || familiar(name[1:]) {
		return name
	}
	return name[:1] + Hidden
}
