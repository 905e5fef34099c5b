package said

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/report"
)

// New returns the source of what this machine wrote down.
func New(_ string, now time.Time, m Machine) *Source {
	w := newWatch(places)
	history := newInstallHistory()
	return newSource(catalog.Darwin, now, m.Whose, &folders{folder: report.NewFolder(nil, report.Mark{}), changed: w.changed, done: w.close}, history, &apps{m.Updates, history})
}

// places are the folders of reports that there may be.
func places() []report.Place {
	all := []report.Place{report.SystemPlace}
	for _, home := range homes() {
		all = append(all, report.HomePlace(home))
	}
	return all
}

// mostHomes is how many users' reports are read.
const mostHomes = 128

// homes are the folders of users; a user who is not root has reports of his own only.
func homes() []string {
	if os.Geteuid() != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		return []string{home}
	}
	found := []string{"/var/root"}
	const users = "/Users"
	dir, err := os.Open(users)
	if err != nil {
		return found
	}
	defer dir.Close()
	list, _ := dir.ReadDir(mostHomes)
	for _, e := range list {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			found = append(found, filepath.Join(users, e.Name()))
		}
	}
	slices.Sort(found)
	return found
}
