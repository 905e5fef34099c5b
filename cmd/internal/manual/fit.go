package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is the greatest width of help: that of the narrowest usual terminal.
const helpWidth = 80

// Help prints the help of a command so that it fits an ordinary terminal.
func Help(c *cobra.Command, _ []string) {
	text := c.Long
	if text == "" {
		text = c.Short
	}
	text = strings.TrimRight(text, " \n") + "\n\n"
	if c.Runnable() || c.HasSubCommands() {
		text += c.UsageString()
	}
	fmt.Fprint(c.OutOrStdout(), fit(text, helpWidth))
}

// fit breaks the lines of a help text that are too long. A paragraph is filled again; an item of
// a list continues below its text; an example continues as in a shell, after a backslash.
func fit(text string, width int) string {
	var out, paragraph []string
	end := func() {
		for _, line := range paragraph {
			if len([]rune(line)) > width {
				paragraph = filled(strings.Join(paragraph, " "), "", "", width)
				break
			}
		}
		out, paragraph = append(out, paragraph...), nil
	}
	examples := false
	for _, line := range strings.Split(text, "\n") {
		if line != "" && line[0] != ' ' {
			examples = line == "Examples:"
			if strings.HasSuffix(line, ":") && len(paragraph) == 0 && len([]rune(line)) <= width {
				out = append(out, line)
				continue
			}
			paragraph = append(paragraph, line)
			continue
		}
		end()
		if len([]rune(line)) <= width {
			out = append(out, line)
			continue
		}
		indent := textColumn(line)
		if examples {
			out = append(out, filled(line, "      ", ` \`, width)...)
			continue
		}
		out = append(out, filled(line, strings.Repeat(" ", indent), "", width)...)
	}
	end()
	return strings.Join(out, "\n")
}

// textColumn returns where the last column of a line in a list begins, the explanation.
func textColumn(line string) int {
	const most = 50 // an explanation that begins farther right would have no room
	at := len(line) - len(strings.TrimLeft(line, " "))
	begin := at
	if gap := strings.Index(line[at:], "  "); gap >= 0 {
		begin = at + gap
		begin += len(line[begin:]) - len(strings.TrimLeft(line[begin:], " "))
	}
	if begin > most {
		return at + 4
	}
	return begin
}

// filled breaks a line at its blanks; each following line begins with indent, and each line but
// the last ends with sign.
func filled(line, indent, sign string, width int) []string {
	var out []string
	at := len(line) - len(strings.TrimLeft(line, " "))
	for len([]rune(line)) > width {
		letters := []rune(line)
		cut, quote, least := -1, rune(0), at
		if sign == "" {
			least = max(at, len([]rune(indent))-1) // The explained word is not broken.
		}
		for i := 1; i <= width-len(sign) && i < len(letters); i++ {
			switch l := letters[i]; {
			case sign == "": // Only an example has quoted words, which are not broken.
			case l == quote:
				quote = 0
			case quote == 0 && (l == '\'' || l == '"'):
				quote = l
			}
			if i > least && quote == 0 && letters[i] == ' ' && letters[i-1] != ' ' {
				cut = i
			}
		}
		if cut < 0 || strings.TrimSpace(string(letters[:cut])) == "" {
			break // A word that is too long is not broken.
		}
		out = append(out, string(letters[:cut])+sign)
		line, at = indent+strings.TrimLeft(string(letters[cut:]), " "), len(indent)
	}
	return append(out, line)
}
