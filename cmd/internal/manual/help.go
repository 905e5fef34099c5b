package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/store/query"
)

// HelpCommand returns the help command, which reports an unknown name as an error.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Help about any command or topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var list []string
			for _, c := range cmd.Root().Commands() {
				if !c.Hidden && len(args) == 0 && strings.HasPrefix(c.Name(), typed) {
					list = append(list, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				var names []string
				for _, c := range root.Commands() {
					names = append(names, c.Name())
				}
				return fmt.Errorf("there is no help about %s%s", strings.Join(args, " "), query.Suggest(args[0], names))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
