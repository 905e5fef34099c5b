// Package activate takes over the sockets that launchd opened for a job, as the key Sockets of
// its plist requests. A program that launchd starts this way needs only this package, not the
// installer in package launchd.
package activate
