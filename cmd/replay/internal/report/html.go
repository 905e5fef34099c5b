package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's program, in order. The third-party uplot.js comes
// before them.
var scripts = []string{"human.js", "time.js", "load.js", "plot.js", "figure.js", "processes.js", "flame.js", "parts.js", "page.js"}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // It is part of the program.
	}
	return string(text)
}

var page = template.Must(template.New("page").Parse(asset("page.html")))

// script joins parts to the page's program, which starts by calling the function begin.
func script(parts []string, begin string) string {
	var b strings.Builder
	b.WriteString("/*\n" + asset("uplot.LICENSE") + "*/\n" + asset("uplot.js") + "\n(function () {\n'use strict';\n")
	b.WriteString("var licence = " + strconv.Quote(asset("uplot.LICENSE")) + ";\n")
	for _, name := range parts {
		b.WriteString(asset(name))
	}
	b.WriteString(begin + "();\n})();\n")
	return b.String()
}

// hash returns the hash by which a content security policy identifies a script or a style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// policyOf returns a policy that lets a page run only its own program and use only its own
// style.
func policyOf(program, style string) string {
	return "default-src 'none'; script-src " + hash(program) + "; style-src " + hash(style) + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Title returns the title: the host and the time that the page shows.
func (p *Page) Title() string { return p.doc.Title }

// WriteHTML writes the page as one file.
func (p *Page) WriteHTML(w io.Writer) error {
	program, style := script(scripts, "main"), asset("uplot.css")+"\n"+asset("page.css")
	about := map[string]any{
		"Document": &p.doc,
		// Both come from the program, not from the archive.
		"Script": template.JS(program), "Style": template.CSS(style),
		"Policy": policyOf(program, style),
	}
	if err := page.ExecuteTemplate(w, "head", about); err != nil {
		return err
	}
	if err := p.writeEncoded(w); err != nil {
		return err
	}
	return page.ExecuteTemplate(w, "tail", about)
}
