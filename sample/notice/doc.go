// Package notice finds changes in the recorded values that deserve an event: the machine
// switched to its battery, heat or a lack of memory slowed it down, a setting changed. It
// looks at each recorded tick and reads nothing itself.
package notice
