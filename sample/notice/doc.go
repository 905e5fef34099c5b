// Package notice finds in the values that pass by what a person who reads a
// log wants told as an event: that the machine went over to its battery, that
// heat or a lack of memory holds it back and for how long, that a setting was
// changed. It reads nothing itself: it looks at each tick that was recorded.
package notice
