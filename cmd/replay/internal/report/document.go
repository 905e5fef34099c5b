package report

import "tachograph/store"

type archiveInfo = store.ArchiveInfo

// Page is the content of a report.
type Page struct {
	doc    document
	blocks blocks
}

// document is the part of a page other than the numbers to draw. Its texts may hold anything:
// the page shows them as text and nothing else. Instants are milliseconds since 1970.
type document struct {
	Title    string    `json:"title"`
	Asked    string    `json:"asked,omitempty"`
	Command  string    `json:"command,omitempty"`
	Version  string    `json:"version,omitempty"`
	Made     string    `json:"made,omitempty"`
	Zone     Zone      `json:"zone"`
	Host     Host      `json:"host"`
	Hosts    []Host    `json:"hosts,omitempty"` // that a served page can show
	Archives []Archive `json:"archives"`
	From     float64   `json:"from"`
	To       float64   `json:"to"`
	Length   string    `json:"length"`
	Cursor   float64   `json:"cursor,omitempty"`
	// First is the beginning of the first column, Step the length of each.
	First     float64    `json:"first"`
	Step      float64    `json:"step"`
	Columns   int        `json:"columns"`
	Plots     []*Plot    `json:"plots"`
	Processes *Processes `json:"processes,omitempty"`
	Summary   []Sentence `json:"summary,omitempty"`
	// Ordinary says that nothing was out of the ordinary. Against is the calm time that the
	// summary compares with, Looked the time that it is about.
	Ordinary   bool       `json:"ordinary,omitempty"`
	Against    string     `json:"against,omitempty"`
	Looked     string     `json:"looked,omitempty"`
	Gauges     [][]string `json:"gauges,omitempty"`
	Tops       []Top      `json:"tops,omitempty"`
	Ports      *Top       `json:"ports,omitempty"` // that dropped connections
	Breaks     []Mark     `json:"breaks,omitempty"`
	Events     []Mark     `json:"events,omitempty"`
	Flame      *Flame     `json:"flame,omitempty"`
	Everyday   int        `json:"everyday,omitempty"`
	MoreEvents int        `json:"moreEvents,omitempty"`
	Absent     []Absent   `json:"absent,omitempty"`
}

// Zone is the time zone of the times on the page: its offsets from UTC, each from an instant on.
type Zone struct {
	Name    string   `json:"name"`
	Offsets []Offset `json:"offsets"`
}

// Offset is a zone's distance from UTC, and its name while it has this distance.
type Offset struct {
	From    float64 `json:"from"`
	Seconds int     `json:"seconds"`
	Name    string  `json:"name"`
}

// Host is the host that the page is about.
type Host struct {
	Name  string      `json:"name"`
	ID    string      `json:"id"`
	Facts [][2]string `json:"facts,omitempty"`
}

// Archive is an archive that was read.
type Archive struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Span string `json:"span"`
	Size string `json:"size,omitempty"`
}

// Absent is something that a reader would look for and that is missing.
type Absent struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Plot is one picture.
type Plot struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	Title string `json:"title"`
	About string `json:"about"`
	// Words describe the picture.
	Words   string  `json:"words"`
	Form    Form    `json:"form"`
	Stacked bool    `json:"stacked,omitempty"`
	Heat    bool    `json:"heat,omitempty"`
	Full    float64 `json:"full,omitempty"` // the value at the top of the plot; 0 where the values set it
	// FullText is Full in words.
	FullText string  `json:"fullText,omitempty"`
	Series   []*Line `json:"series"`
	More     int     `json:"more,omitempty"` // series that are not drawn
}

// Line is a series of a plot. Mean, Low and High are block numbers; the blocks hold its values
// in each column. Low and High are zero if no column has more than one value.
type Line struct {
	Name string `json:"name"`
	// Average and Most are over the window, as text.
	Average string `json:"average"`
	Most    string `json:"most"`
	Mean    int    `json:"mean"`
	Low     int    `json:"low,omitempty"`
	High    int    `json:"high,omitempty"`
	// Rest says that it is the remainder: all others, or what is free.
	Rest bool `json:"rest,omitempty"`
}

// Processes are process tables: for the last reading in each stretch of time, the processes that
// used most. Lists have an entry for each process or each table. The rest are block numbers; the
// blocks have an entry for each row: its process, its table, and what the process used.
type Processes struct {
	Step   float64   `json:"step"`
	At     []float64 `json:"at"`
	Totals []int     `json:"totals"`

	Names []string  `json:"names"`
	Users []string  `json:"users"`
	PIDs  []int     `json:"pids"`
	Name  []int     `json:"name"`
	User  []int     `json:"user"`
	Began []float64 `json:"began"` // seconds since 1970; 0 where unknown

	Process int `json:"process"`
	Sweep   int `json:"sweep"`
	CPU     int `json:"cpu"`
	Memory  int `json:"memory"`
	Read    int `json:"read"`
	Written int `json:"written"`
	Threads int `json:"threads"`
}

// Sentence is a sentence of the summary, with the command that shows more.
type Sentence struct {
	Text    string `json:"text"`
	Kind    string `json:"kind,omitempty"`
	Command string `json:"command,omitempty"`
	// Since and Until are when it was true; 0 where that says nothing.
	Since float64 `json:"since,omitempty"`
	Until float64 `json:"until,omitempty"`
}

// Top lists the largest users of something.
type Top struct {
	Title string     `json:"title"`
	Heads []string   `json:"heads"`
	Rows  [][]string `json:"rows"`
}

// Mark is an event: at an instant or, if To is later, for a time.
type Mark struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Kind string  `json:"kind"`
	Text string  `json:"text"`
	// Drawn says that the plots mark it, Grave that it is unusual.
	Drawn bool `json:"drawn,omitempty"`
	Grave bool `json:"grave,omitempty"`
}
