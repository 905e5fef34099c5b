// Package demand reads metrics when somebody asks for them, for those who have no
// deadlines of their own but are asked by others, at any time and by many at once.
//
// What is read is what was asked for and nothing else: of each source that has any
// of it one reading, whose frames hold the wanted metrics alone, so that a source
// makes only the calls that these need. A value that is younger than the shortest
// interval at which reading it again can give anything new (Desc.MinInterval) is
// shared instead, among all who ask.
//
// A source that does not come back keeps nobody waiting: the others go on being read
// beside it, who asked is told that it has timed out, and it is not asked again until
// it has come back, and then less and less often, as package engine does. What comes
// back late is kept like any other reading.
//
// A budget bounds what reading may cost over time, whoever asks how often: when it is
// used up, what is expensive to read is shared for longer.
package demand
