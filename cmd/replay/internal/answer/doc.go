// Package answer declares what answers about processes consist of. A field is declared once: its
// name for programs, its heading and place in the tables that people read, and how its value is
// written for either. The commands, the exported tables, the report and browse all take their
// columns from here.
package answer
