package guide

import (
	"slices"
	"testing"
)

func TestExamples(t *testing.T) {
	page := "replay nothing\n```sh\nsudo ./replay top -n 3   # a table\nreplay find 'a > 1' --for \"30 s\"; replay verify | head\nTZ=UTC replay\nother replay\n" +
		"replay serve & replay at \\\n```\nreplay nothing\n"
	want := []string{"top\x00-n\x003", "find\x00a > 1\x00--for\x0030 s", "verify", "", "serve", "at"}
	if got := Examples(page, "replay"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
