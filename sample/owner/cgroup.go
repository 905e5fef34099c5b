package owner

import "bytes"

// Line joins the lines of a /proc/PID/cgroup into one, as ps writes them: "cpu:/;memory:/".
func Line(text []byte) string {
	var b []byte
	for l := range bytes.Lines(text) {
		if _, rest, ok := bytes.Cut(bytes.TrimSuffix(l, []byte{'\n'}), []byte{':'}); ok {
			if len(b) > 0 {
				b = append(b, ';')
			}
			b = append(b, rest...)
		}
	}
	return string(b)
}
