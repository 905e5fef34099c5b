// Package cli is shared by the command lines of both programs: the exit statuses, the scripts
// that complete a command line in a shell, and the wording of mistakes and of counts.
package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses of both programs, like those of grep and diff.
const (
	Yes    = 0
	No     = 1
	Failed = 2
)

// A Status is an exit status with its explanation.
type Status struct {
	Code    int
	Meaning string
	Of      string // which commands return it, and when
}

// Statuses are all exit statuses.
var Statuses = []Status{
	{Yes, "done; the answer is yes", "every command"},
	{No, "the answer is no", "recorder status: not healthy or not running; recorder check, recorder reload: the configuration is refused; " +
		"recorder check --witness: two sources disagree; recorder sample --self-check: the process was stopped for too long; " +
		"replay find: nothing found; replay why: nothing out of the ordinary; replay verify: damage; replay repair, replay export, replay snapshot, replay merge, replay split: something is lost; replay push: something was refused"},
	{Failed, "not done, or not answered", "every command: what it says on standard error tells why; mistakes in the command line, too"},
}

// StatusText returns the table of statuses for a terminal.
func StatusText() string {
	var b strings.Builder
	for _, s := range Statuses {
		fmt.Fprintf(&b, "  %d  %s\n", s.Code, s.Meaning)
		for _, of := range strings.Split(s.Of, "; ") {
			fmt.Fprintf(&b, "       %s\n", of)
		}
	}
	return b.String()
}

// StatusTopic returns the topic for help exit-status.
func StatusTopic() *cobra.Command {
	return &cobra.Command{
		Use: "exit-status", Short: "What the exit status says",
		Long: "The exit statuses of recorder and of replay mean the same:\n\n" + strings.TrimRight(StatusText(), "\n"),
	}
}
