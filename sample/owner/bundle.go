package owner

import "strings"

// Place is where a program lies in the bundles of macOS.
type Place struct {
	// App is the directory of the app that people know: the outermost one, because helpers lie
	// in the app that uses them. Empty is none.
	App string
	// Main is set for the program of the app itself. Tool is set for one that is not part of
	// what runs when the app runs, like a compiler in a development app: it then works for the
	// app that starts it.
	Main, Tool bool
	// Service is the name of the innermost service, extension or driver, without its ending.
	Service string
}

// PlaceOf finds the bundles in the path of a program.
func PlaceOf(exe string) (p Place) {
	inner, framed := "", false // inner is the innermost bundle that may have a program
	for start, end := range components(exe) {
		name, dir := exe[start:end], exe[:end]
		switch ending(name) {
		case ".app":
			// An app in an app's folder of applications is one that people start by itself. One in
			// a framework that belongs to no app is part of a language.
			if p.App == "" && !framed || strings.HasSuffix(exe[:start], "/Applications/") {
				p.App = dir
			}
			inner, p.Service = dir, ""
		case ".xpc", ".appex", ".systemextension", ".dext":
			inner, p.Service = dir, name[:len(name)-len(ending(name))]
		case ".framework":
			framed = true
		}
	}
	if p.App != "" {
		p.Tool = strings.HasPrefix(exe[len(p.App):], "/Contents/Developer/") || !runs(inner, exe)
		p.Main = inner == p.App && !p.Tool
	}
	return p
}

// components yields where each directory's name in a path begins and ends; the last component is
// the program itself.
func components(path string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for start := 0; ; {
			n := strings.IndexByte(path[start:], '/')
			if n < 0 || n > 0 && !yield(start, start+n) {
				return
			}
			start += n + 1
		}
	}
}

// ending returns the ending of a directory's name that makes it a bundle, in lower case.
func ending(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return strings.ToLower(name[dot:])
	}
	return ""
}

// runs reports whether exe lies where bundle has its program: on macOS in Contents/MacOS, in an
// app of iOS directly in the bundle.
func runs(bundle, exe string) bool {
	rest := exe[len(bundle)+1:]
	return strings.HasPrefix(rest, "Contents/MacOS/") || !strings.Contains(rest, "/")
}

// Name is the name of the app, as people see it below its icon.
func (p Place) Name() string {
	name := p.App[strings.LastIndexByte(p.App, '/')+1:]
	return name[:max(0, len(name)-len(".app"))]
}

// InfoFiles returns the paths at which the property list of the app may lie. An app of iOS has a
// wrapper of the app's name around it, which has none itself.
func (p Place) InfoFiles() []string {
	return []string{p.App + "/Contents/Info.plist", p.App + "/WrappedBundle/Info.plist", p.App + "/Info.plist"}
}

// cryptexes are the places at which macOS mounts what it updates by itself. The kernel gives the
// path of a program in any of them, property lists the path without it.
var cryptexes = []string{"/System/Cryptexes/", "/System/Volumes/Preboot/Cryptexes/", "/private/preboot/Cryptexes/"}

// samePath returns one path for all paths of a program: property lists name it through links, the
// kernel without them.
func samePath(path string) string {
	for _, c := range cryptexes {
		if rest, ok := strings.CutPrefix(path, c); ok {
			if _, below, ok := strings.Cut(rest, "/"); ok { // below App/ or OS/
				path = "/" + below
			}
			break
		}
	}
	for _, link := range []string{"/etc/", "/tmp/", "/var/"} {
		if strings.HasPrefix(path, link) {
			path = "/private" + path
			break
		}
	}
	return withoutVersions(path)
}

// withoutVersions drops Versions/A/ from the frameworks in a path.
func withoutVersions(path string) string {
	const mark = ".framework/Versions/"
	from := 0
	for {
		i := strings.Index(path[from:], mark)
		if i < 0 {
			return path
		}
		cut := from + i + len(".framework/")
		n := strings.IndexByte(path[cut+len("Versions/"):], '/')
		if n < 0 {
			return path
		}
		path = path[:cut] + path[cut+len("Versions/")+n+1:]
		from = cut
	}
}
