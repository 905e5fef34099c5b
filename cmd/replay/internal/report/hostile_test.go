package report

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

// hostile are names that would be more than names, were they put into a page as they
// are.
var hostile = []string{
	"</script><script>window.hacked=1</script>",
	"<img src=x onerror=window.hacked=1>",
	"--><svg onload=window.hacked=1>",
	"\"' onmouseover='window.hacked=1",
	"</div></title></style></noscript><script>window.hacked=1</script>",
	"a\u2028b\u2029c", "\u202egnp.exe\u2066", "nul\x00byte", "\x1b]0;owned\x07\x1b[31m", "{{.Script}}${1}`${window.hacked=1}`", "=cmd|'/c calc'!A1",
	strings.Repeat("x<b>", 25_000), "\xff\xfe\xe2\x80", "javascript:window.hacked=1", "__proto__", "constructor",
}

// hostileArchive is the recording of a MacBook with such names wherever a stranger can
// put one.
func hostileArchive(t testing.TB) *querytest.Archive {
	t.Helper()
	parts, err := querytest.Load("../../testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	spoil := func(s *string) { *s += hostile[n%len(hostile)]; n++ }
	done := make(map[*metric.Instance]bool)
	for _, p := range parts {
		h := &p.Info.Host
		for _, s := range []*string{&h.Name, &h.OS, &h.Release, &h.Arch, &h.Model, &p.Info.Path, &p.Info.ID, &p.Info.Recorder} {
			spoil(s)
		}
		for i := range h.Labels {
			spoil(&h.Labels[i].Value)
		}
		for _, d := range p.Catalog {
			if d.Unsupported != "" {
				spoil(&d.Unsupported)
			}
			spoil(&d.Help)
		}
		for _, tick := range p.Ticks {
			for b := range tick.Blocks {
				for _, in := range tick.Blocks[b].Rows {
					if in != nil && !done[in] {
						done[in] = true
						spoil(&in.Name)
						in.Labels = append(in.Labels, metric.Label{Name: "user", Value: hostile[n%len(hostile)]})
					}
				}
				for c := range tick.Blocks[b].Cols {
					for i := range tick.Blocks[b].Cols[c].Words {
						spoil(&tick.Blocks[b].Cols[c].Words[i])
					}
				}
			}
		}
		for i := range p.Events {
			spoil(&p.Events[i].Text)
			kind := string(p.Events[i].Kind)
			if p.Events[i].Kind == metric.EventTunableChange {
				spoil(&kind)
				p.Events[i].Kind = metric.EventKind(kind)
			}
		}
	}
	return querytest.New(parts...)
}

// TestHostileNames looks at all of a page but the data: none of what a stranger wrote
// stands there as more than text, and nothing that acts on who reads the file.
func TestHostileNames(t *testing.T) {
	p := collect(t, hostileArchive(t), Request{Asked: hostile[0], Command: hostile[1], Shell: func(args []string) string { return strings.Join(args, " ") }})
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if b.Len() > 2<<20 {
		t.Errorf("names make the page %d bytes", b.Len())
	}
	before, rest, _ := strings.Cut(html, `<div id="data" hidden>`)
	data, after, _ := strings.Cut(rest, "</div>")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		t.Errorf("the data is no base64: %v", err)
	}
	program, tail, _ := strings.Cut(after, "</script>")
	outside := before + tail
	for _, markup := range []string{"<script>window", "<img", "<svg", "onmouseover='", "</title></style>", "\u2028", "\u202e", "\x00", "\x1b", "\xff"} {
		if strings.Contains(outside, markup) {
			t.Errorf("the page holds %q as it is", markup)
		}
	}
	if n := strings.Count(html, "<script"); n != 1+strings.Count(script(scripts, "main"), "<script") {
		t.Errorf("%d scripts", n)
	}
	// The policy lets this program run and nothing else.
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(before)
	_, program, _ = strings.Cut(program, "<script>")
	if policy == nil || !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(policy[1], "&#39;", "'"), "&#43;", "+"), hash(program)) ||
		strings.Contains(policy[1], "unsafe") || !strings.HasPrefix(policy[1], "default-src &#39;none&#39;") {
		t.Errorf("policy %q does not fit the program, whose hash is %s", policy, hash(program))
	}
}

// The programs in a page put text into it as text only.
func TestScriptsMakeNoMarkup(t *testing.T) {
	for _, name := range scripts {
		for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "XMLHttpRequest"} {
			if strings.Contains(asset(name), way) {
				t.Errorf("%s uses %s", name, way)
			}
		}
	}
}
