package sample

import "runtime/debug"

// Release is the version of the product. The commit comes from the build itself.
const Release = "1.0.0"

// Version is the version of this program, with the commit it was built from if known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Release
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ".changed"
		}
	}
	return Release + commit + changed
}
