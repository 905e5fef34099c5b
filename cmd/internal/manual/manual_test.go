package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The page of a program has the commands below commands.
func TestCommandsBelowOthers(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "prog", Short: "Does it"}
	above := &cobra.Command{Use: "agent", Short: "Answer others", Run: run}
	above.AddCommand(&cobra.Command{Use: "install DIR", Short: "Install the agent", Run: run})
	root.AddCommand(above)
	if text := OfProgram(root).Text; !strings.Contains(text, `.SS "agent install DIR`) {
		t.Error(text)
	}
}
