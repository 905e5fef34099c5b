package owner

import "strings"

// Job is what a property list of launchd says of a job.
type Job struct {
	Label   string
	Program string // its path; relative to the app for a job in an app's bundle
}

// JobFrom reads a property list of launchd; false if it has no label or no program of its own.
func JobFrom(b []byte) (Job, bool) {
	texts, err := PropertyTexts(b, "Label", "Program", "ProgramArguments", "BundleProgram")
	if err != nil {
		return Job{}, false
	}
	j := Job{Label: texts["Label"]}
	for _, key := range []string{"Program", "BundleProgram", "ProgramArguments"} {
		if j.Program = texts[key]; j.Program != "" {
			break
		}
	}
	return j, j.Label != "" && j.Program != ""
}

// Jobs finds the label of a job by the path of its program.
type Jobs struct{ labels map[string]string }

// Add adds a job. A program that several jobs start does not show which one runs.
func (j *Jobs) Add(job Job) {
	if !strings.HasPrefix(job.Program, "/") || runsOthers[job.Program[strings.LastIndexByte(job.Program, '/')+1:]] {
		return
	}
	if j.labels == nil {
		j.labels = make(map[string]string)
	}
	path := samePath(job.Program)
	if label, known := j.labels[path]; known && label != job.Label {
		job.Label = ""
	}
	j.labels[path] = job.Label
}

// Label returns the label of the only job with a program, or "".
func (j *Jobs) Label(program string) string { return j.labels[samePath(program)] }

// runsOthers are programs that run what their arguments name. A daemon that one of them runs and
// that has lost its parent is not the job.
var runsOthers = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "csh": true, "tcsh": true, "env": true,
	"python": true, "python3": true, "perl": true, "ruby": true, "node": true, "java": true, "osascript": true,
	"open": true, "launchctl": true, "sandbox-exec": true, "xpcproxy": true,
}

// LabelOf returns the label of the job from XPC_SERVICE_NAME in the environment of one of its
// processes. launchd sets it to 0 where there is no job, and for an app that a user opened to
// application.IDENTIFIER and two numbers, which are others at each start; app is the identifier.
func LabelOf(serviceName string) (label, app string) {
	rest, opened := strings.CutPrefix(serviceName, "application.")
	if !opened {
		if serviceName == "0" {
			return "", ""
		}
		return serviceName, ""
	}
	for range 2 {
		i := strings.LastIndexByte(rest, '.')
		if i < 0 || strings.Trim(rest[i+1:], "0123456789") != "" {
			break
		}
		rest = rest[:i]
	}
	return "", rest
}
