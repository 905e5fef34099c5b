package main

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"tachograph/testdata/guide"
)

func TestGuideShowsCommandsThatThereAre(t *testing.T) {
	guide.Check(t, "../..", "recorder", func() *cobra.Command { return newApp(io.Discard, io.Discard).root() },
		func(_ *cobra.Command, args []string) []string { return args })
}
