package cli

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// bashWords splits a command line into words where the package bash-completion, which normally
// does that, is not installed: as on every Mac.
//
//go:embed words.bash
var bashWords string

// CompletionCommand prints the script for a shell.
func CompletionCommand() *cobra.Command {
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

// Completer offers words for an argument or the value of a flag.
type Completer = cobra.CompletionFunc

// CompleteFixed returns a Completer that always offers the same words.
func CompleteFixed(words ...string) Completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteFiles lets the shell offer files.
func CompleteFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// CompleteNothing offers no words, where only the user can know the value.
func CompleteNothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// RegisterCompletion gives the flags of a command and all commands below it their completers, by
// name; flags that are not in the table take numbers or free words.
func RegisterCompletion(cmd *cobra.Command, flags map[string]Completer) {
	register := func(f *pflag.Flag) {
		words := flags[f.Name]
		if words == nil {
			words = CompleteNothing
		}
		if f.NoOptDefVal == "" {
			// It fails only for a flag that the command does not have, or that is registered
			// twice.
			if err := cmd.RegisterFlagCompletionFunc(f.Name, words); err != nil {
				panic(err)
			}
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	for _, c := range cmd.Commands() {
		RegisterCompletion(c, flags)
	}
}
