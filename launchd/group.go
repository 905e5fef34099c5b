package launchd

import (
	"fmt"
	"os/user"
	"strconv"
)

func groupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %s", name)
	}
	return strconv.Atoi(g.Gid)
}
