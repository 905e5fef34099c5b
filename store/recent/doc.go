// Package recent keeps the last few ticks of each class, and the events and
// instances of that time, in memory, and shows them as the archive from which
// they come would: questions that are put to a store.Reader can be put to an
// Archive here and have the same answers, as far back as it reaches.
//
// It is for what follows a recording: rates, computed metrics and rankings of
// the present moment are asked of it with the same code that asks archives, at a
// cost that does not depend on how much has been recorded. What was not asked to
// be kept is not copied. A follower passes over what is recorded late, and so it is not
// here.
package recent
