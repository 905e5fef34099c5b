package query

import "testing"

// A glob matches what its expression does, text or not.
func TestGlobsMatchAsTheirExpressions(t *testing.T) {
	texts := []string{"", "a", "ab", "1063 node", "001063 node", "x 1063 nod", "a\xffb", "a\ufffdb", "line\nline", "über"}
	for _, glob := range []string{"*", "?", "*1063 *", "*a?b*", "a*b", "a\xffb*", "*\ufffd*", "??ber", "*line*line", "line*"} {
		p, err := ParsePattern(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range texts {
			if got, want := p.Match(s), p.re.MatchString(s); got != want {
				t.Errorf("%q matches %q: %v, its expression says %v", glob, s, got, want)
			}
		}
	}
}
