// Package completion implements the completion command of both programs. It prints the
// scripts that shells use to complete command lines.
package completion

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// bashWords takes a command line apart where the package bash-completion, whose
// part that is otherwise, is not installed: as on every Mac.
//
//go:embed words.bash
var bashWords string

// Command prints the script for a shell.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the script that completes command lines in a shell",
		Long: `completion prints the script that completes commands, flags and what may stand
for them. To have it in every new shell:

  bash  add to ~/.bashrc:                    source <(PROGRAM completion bash)
        (bash 3, as on a Mac:                eval "$(PROGRAM completion bash)")
  zsh   add to ~/.zshrc, after compinit:     source <(PROGRAM completion zsh)
  fish  PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish

Bash needs no package beside it.`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s needs the name of a shell: bash, zsh or fish", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				if err := root.GenBashCompletionV2(w, true); err != nil {
					return err
				}
				_, err := fmt.Fprint(w, strings.ReplaceAll(bashWords, "PROGRAM", root.Name()))
				return err
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			}
			return fmt.Errorf("there is no script for %s: bash, zsh and fish have one", args[0])
		},
	}
}

// Func offers words for an argument or the value of a flag.
type Func = cobra.CompletionFunc

// Fixed offers the same words always.
func Fixed(words ...string) Func {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// Files leaves it to the shell to offer files.
func Files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Nothing is offered where only people know what they mean.
func Nothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Register gives the flags of a command and of all below it their words, by
// name; those that are not in the table are numbers or free words.
func Register(cmd *cobra.Command, flags map[string]Func) {
	register := func(f *pflag.Flag) {
		words := flags[f.Name]
		if words == nil {
			words = Nothing
		}
		if f.NoOptDefVal == "" {
			// It fails only for a flag that the command has not, or twice.
			if err := cmd.RegisterFlagCompletionFunc(f.Name, words); err != nil {
				panic(err)
			}
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	for _, c := range cmd.Commands() {
		Register(c, flags)
	}
}
