package said

import (
	"os"
	"path/filepath"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/report"
)

// New returns the source of what this machine wrote down.
func New(_ string, now time.Time, whose Whose) *Source {
	places := []report.Place{report.SystemPlace}
	for _, home := range homes() {
		places = append(places, report.HomePlace(home))
	}
	w := newWatch(places)
	return newSource(catalog.Darwin, now, whose, &folders{folder: report.NewFolder(places, report.Mark{}), changed: w.changed, done: w.close}, newInstallHistory())
}

// homes are the folders of users; a user who is not root has reports of his own only.
func homes() []string {
	if os.Geteuid() != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		return []string{home}
	}
	found, _ := filepath.Glob("/Users/*")
	return append(found, "/var/root")
}
