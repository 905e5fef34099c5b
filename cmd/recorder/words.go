package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/store/disk"
)

// words are what the service has written since a moment: to its log, or to the journal of its
// manager.
type words struct {
	h     *host
	since time.Time
	from  int64 // length of the log at that moment
}

// listen starts at the current end of the log.
func (h *host) listen() *words {
	w := &words{h: h, since: time.Now()}
	if h.layout.Log != "" {
		if info, err := os.Lstat(filepath.Join(h.root, h.layout.Log)); err == nil {
			w.from = info.Size()
		}
	}
	return w
}

// lastWords returns the last error of a service that was started at that time, or of later
// attempts to start it.
func (h *host) lastWords(started time.Time) string {
	return lastError((&words{h: h, since: started}).text())
}

// explain adds the service's last error to an error.
func (w *words) explain(err error) error {
	if err == nil {
		return nil
	}
	if line := lastError(w.text()); line != "" {
		return fmt.Errorf("%w; its last error: %s", err, line)
	}
	return err
}

// maxWords is how much of the end of a log is read.
const maxWords = 64 << 10

// text returns what was written since; empty if that cannot be read.
func (w *words) text() string {
	if w.h.layout.Log == "" {
		return w.h.manager.Journal(w.since)
	}
	f, err := disk.OpenNoFollow(filepath.Join(w.h.root, w.h.layout.Log), os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := w.from
	if from > info.Size() { // it was rotated meanwhile
		from = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(from, info.Size()-maxWords), maxWords))
	if err != nil {
		return ""
	}
	return string(text)
}

// maxErrorLine is how much of an error is shown.
const maxErrorLine = 500

// lastError finds the last error of the last run in a log; empty if it had none.
func lastError(log string) string {
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		said, isError, begin := errorIn(strings.TrimSpace(line))
		if begin {
			return ""
		}
		if isError {
			if len(said) > maxErrorLine {
				said = strings.ToValidUTF8(said[:maxErrorLine], "") + "..."
			}
			return said
		}
	}
	return ""
}

// errorIn reads one line of a log. It recognises errors that the recorder writes as text or as
// json, those that it prints when it cannot begin, those of Go's runtime, and those of systemd
// if it cannot run the recorder. begin says that the line marks the start of recording.
func errorIn(line string) (said string, isError, begin bool) {
	if text, ok := strings.CutPrefix(line, "recorder: "); ok {
		return text, !strings.HasPrefix(text, "note: "), false
	}
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.Contains(line, ": Failed ") {
		return line, true, false
	}
	if strings.HasPrefix(line, "{") {
		var o struct{ Level, Msg, Error string }
		if json.Unmarshal([]byte(line), &o) != nil {
			return "", false, false
		}
		if o.Error != "" {
			o.Msg += ": " + o.Error
		}
		return o.Msg, o.Level == "ERROR", o.Msg == startMessage
	}
	head, msg, ok := strings.Cut(line, " msg=")
	if !ok {
		return "", false, false
	}
	if quoted, err := strconv.QuotedPrefix(msg); err == nil {
		text, _ := strconv.Unquote(quoted)
		msg = text + msg[len(quoted):]
	}
	return msg, strings.HasSuffix(head, " level=ERROR"), msg == startMessage || strings.HasPrefix(msg, startMessage+" ")
}

// startMessage is a recorder's first message in its log.
const startMessage = "recording"
