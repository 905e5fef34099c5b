package darwin

import "tachograph/sample/darwin/rows"

// apfsRows returns the tables of the containers and of the volumes of the Apple File System.
func apfsRows() (containers, volumes *rows.Table) {
	return rows.New("apfs container", rows.Select("apfs container", "IOKit AppleAPFSContainer"), 0, nil),
		rows.New("apfs volume", rows.Select("apfs volume", "IOKit AppleAPFSVolume"), 0, nil)
}
