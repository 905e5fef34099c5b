package launchd

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// Plist is the job's description for launchd.
func (l Layout) Plist() []byte {
	return plist(dict{
		{"Label", Label},
		{"ProgramArguments", l.Command()},
		{"WorkingDirectory", "/"},
		{"RunAtLoad", true},
		{"KeepAlive", dict{{"SuccessfulExit", false}}},
		{"ThrottleInterval", throttleSeconds},
		{"ExitTimeOut", exitSeconds},
		{"ProcessType", "Interactive"},
		{"Umask", 0o077},
		{"SoftResourceLimits", dict{{"NumberOfFiles", openFiles}}},
		{"StandardOutPath", l.Log},
		{"StandardErrorPath", l.Log},
	})
}

// dict writes its keys in this order.
type dict []struct {
	key   string
	value any
}

// plist writes a property list with d at its root.
func plist(d dict) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	b.WriteString(`<plist version="1.0">` + "\n")
	writeValue(&b, "", d)
	b.WriteString("</plist>\n")
	return b.Bytes()
}

func writeValue(b *bytes.Buffer, indent string, v any) {
	switch v := v.(type) {
	case dict:
		b.WriteString(indent + "<dict>\n")
		for _, e := range v {
			writeText(b, indent+"\t", "key", e.key)
			writeValue(b, indent+"\t", e.value)
		}
		b.WriteString(indent + "</dict>\n")
	case []string:
		b.WriteString(indent + "<array>\n")
		for _, s := range v {
			writeText(b, indent+"\t", "string", s)
		}
		b.WriteString(indent + "</array>\n")
	case string:
		writeText(b, indent, "string", v)
	case int:
		fmt.Fprintf(b, "%s<integer>%d</integer>\n", indent, v)
	case bool:
		fmt.Fprintf(b, "%s<%t/>\n", indent, v)
	}
}

func writeText(b *bytes.Buffer, indent, tag, text string) {
	b.WriteString(indent + "<" + tag + ">")
	xml.EscapeText(b, []byte(text))
	b.WriteString("</" + tag + ">\n")
}

// NewsyslogRule rotates the text log: it keeps five old ones of a megabyte each. The recorder
// notices by itself that its log was renamed, so newsyslog need not signal any process (N). Old
// logs are not compressed, because for a moment lines still go into the newest of them.
func (l Layout) NewsyslogRule() []byte {
	return fmt.Appendf(nil, "# logfilename\t\t\t\t\t[owner:group]\tmode\tcount\tsize\twhen\tflags\n%s\troot:admin\t640\t5\t1024\t*\tN\n", l.Log)
}
