package report

import (
	"bytes"
	"html/template"
)

// Shell returns the page without data, for a server: it fetches its data from that server, and
// goes on with what is recorded. policy is the content security policy for the header.
func Shell() (html []byte, policy string) {
	program, style := script(append(scripts, "merge.js", "live.js", "bar.js"), "live"), asset("uplot.css")+"\n"+asset("page.css")+asset("live.css")
	policy = policyOf(program, style) + "; connect-src 'self'"
	about := map[string]any{"Document": &document{Title: "Tachograph"}, "Policy": policy,
		"Script": template.JS(program), "Style": template.CSS(style)}
	var b bytes.Buffer
	for _, part := range []string{"head", "tail"} {
		if err := page.ExecuteTemplate(&b, part, about); err != nil {
			panic(err) // It is part of the program.
		}
	}
	return b.Bytes(), policy + "; frame-ancestors 'none'"
}
