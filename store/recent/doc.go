// Package recent keeps the last few ticks of each class, and the events and instances of that
// time, in memory, and gives the same answers as the archive that they come from: every question
// for a store.Reader can be put to an Archive here, and has the same answer, as far back as the
// Archive reaches.
//
// It is for programs that follow a recording: rates, computed metrics and rankings of the
// present moment come from the same code that reads archives, at a cost that does not depend on
// how much has been recorded. Metrics that are not to be kept are not copied. A follower passes
// over late ticks, and so they are not here.
package recent
