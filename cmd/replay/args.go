package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// withNegatives makes arguments that begin with a minus and a digit readable to pflag: "at -5m"
// is a time, and "find '-1 < x'" a condition, where pflag would look for a flag called 5. No
// flag has a digit as its name. All words that are neither flags nor values of flags go behind
// "--".
func withNegatives(root *cobra.Command, args []string) []string {
	if completing(args) {
		return args // Completion distinguishes the words itself.
	}
	cmd, flags := root, []string(nil)
	var plain []string
	negative := false
	for i := 0; i < len(args); i++ {
		s := args[i]
		switch {
		case s == "--":
			plain = append(plain, args[i+1:]...)
			i = len(args)
		case isNegative(s):
			plain, negative = append(plain, s), true
		case strings.HasPrefix(s, "-") && s != "-":
			flags = append(flags, s)
			if takesNext(cmd, s) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		default:
			if sub := subcommand(cmd, s); sub != nil && len(plain) == 0 {
				cmd = sub
				flags = append(flags, s)
				continue
			}
			plain = append(plain, s)
		}
	}
	if !negative {
		return args
	}
	return slices.Concat(flags, []string{"--"}, plain)
}

// completing reports whether a shell asks for words.
func completing(args []string) bool { return len(args) > 0 && strings.HasPrefix(args[0], "__") }

// isNegative reports whether s begins as a negative number or time.
func isNegative(s string) bool {
	return len(s) > 1 && s[0] == '-' && (s[1] >= '0' && s[1] <= '9' || s[1] == '.')
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// takesNext reports whether the value of the flag s is in the next word.
func takesNext(cmd *cobra.Command, s string) bool {
	find := func(of func(*pflag.FlagSet) *pflag.Flag) *pflag.Flag {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags(), cmd.Root().PersistentFlags()} {
			if f := of(set); f != nil {
				return f
			}
		}
		return nil
	}
	if long, ok := strings.CutPrefix(s, "--"); ok {
		f := find(func(set *pflag.FlagSet) *pflag.Flag { return set.Lookup(long) })
		return f != nil && f.NoOptDefVal == ""
	}
	for i := 1; i < len(s); i++ {
		f := find(func(set *pflag.FlagSet) *pflag.Flag { return set.ShorthandLookup(s[i : i+1]) })
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(s)-1
		}
	}
	return false
}

// needMetrics refuses a command line without a metric.
func needMetrics(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a metric: replay metrics lists them", cmd.CommandPath())
	}
	return nil
}

// needOne refuses anything but one argument.
func needOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs %s, in one argument", cmd.CommandPath(), what)
		}
		return nil
	}
}
