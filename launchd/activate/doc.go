// Package activate takes over the sockets that launchd has opened for a job: the
// Sockets of its plist. It is apart from package launchd because programs that are
// started so need nothing else of that.
package activate
