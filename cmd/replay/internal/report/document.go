package report

import "tachograph/store"

type archiveInfo = store.ArchiveInfo

// Page is what a report shows.
type Page struct {
	doc    document
	blocks blocks
}

// document is the part of a page that is no numbers to be drawn. Its texts may hold
// anything: the page shows them as text and nothing else. Instants are milliseconds
// since 1970.
type document struct {
	Title    string    `json:"title"`
	Asked    string    `json:"asked,omitempty"`
	Command  string    `json:"command,omitempty"`
	Version  string    `json:"version,omitempty"`
	Made     string    `json:"made,omitempty"`
	Zone     Zone      `json:"zone"`
	Host     Host      `json:"host"`
	Hosts    []Host    `json:"hosts,omitempty"` // that a page which is served can show
	Archives []Archive `json:"archives"`
	From     float64   `json:"from"`
	To       float64   `json:"to"`
	Length   string    `json:"length"`
	Cursor   float64   `json:"cursor,omitempty"`
	// First is where the first column begins, Step how long each is.
	First     float64    `json:"first"`
	Step      float64    `json:"step"`
	Columns   int        `json:"columns"`
	Plots     []*Plot    `json:"plots"`
	Processes *Processes `json:"processes,omitempty"`
	Summary   []Sentence `json:"summary,omitempty"`
	// Ordinary says that nothing was out of the ordinary. Against is the calm time
	// that the summary compares with, Looked the time that it is of.
	Ordinary   bool       `json:"ordinary,omitempty"`
	Against    string     `json:"against,omitempty"`
	Looked     string     `json:"looked,omitempty"`
	Gauges     [][]string `json:"gauges,omitempty"`
	Tops       []Top      `json:"tops,omitempty"`
	Breaks     []Mark     `json:"breaks,omitempty"`
	Events     []Mark     `json:"events,omitempty"`
	Flame      *Flame     `json:"flame,omitempty"`
	Everyday   int        `json:"everyday,omitempty"`
	MoreEvents int        `json:"moreEvents,omitempty"`
	Absent     []Absent   `json:"absent,omitempty"`
}

// Zone is the zone that the page shows times in: its offsets from UTC, each from an
// instant on.
type Zone struct {
	Name    string   `json:"name"`
	Offsets []Offset `json:"offsets"`
}

// Offset is how far a zone is from UTC, and what it is called then.
type Offset struct {
	From    float64 `json:"from"`
	Seconds int     `json:"seconds"`
	Name    string  `json:"name"`
}

// Host is what the page is of.
type Host struct {
	Name  string      `json:"name"`
	ID    string      `json:"id"`
	Facts [][2]string `json:"facts,omitempty"`
}

// Archive is one that was read.
type Archive struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Span string `json:"span"`
	Size string `json:"size,omitempty"`
}

// Absent is something that one would look for and that is not there.
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
	// Words describe what there is to be seen.
	Words   string  `json:"words"`
	Form    Form    `json:"form"`
	Stacked bool    `json:"stacked,omitempty"`
	Heat    bool    `json:"heat,omitempty"`
	Full    float64 `json:"full,omitempty"` // what a full plot is; 0 where the values tell
	// FullText says what it is.
	FullText string  `json:"fullText,omitempty"`
	Series   []*Line `json:"series"`
	More     int     `json:"more,omitempty"` // series that are not drawn
}

// Line is a series of a plot. Mean, Low and High are numbers of blocks: what it came
// to in each column; Low and High are zero where no column holds more than a value.
type Line struct {
	Name string `json:"name"`
	// Average and Most are over the window, as they read.
	Average string `json:"average"`
	Most    string `json:"most"`
	Mean    int    `json:"mean"`
	Low     int    `json:"low,omitempty"`
	High    int    `json:"high,omitempty"`
	// Rest says that it is what is left, of others or of nobody.
	Rest bool `json:"rest,omitempty"`
}

// Processes are process tables: of the last reading in each stretch of time, those
// that used most. Lists are by process or by table; the rest are numbers of blocks, of
// one row each: which process it is, in which table, and what it used.
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

// Sentence is one of the summary, with the command that shows more.
type Sentence struct {
	Text    string `json:"text"`
	Kind    string `json:"kind,omitempty"`
	Command string `json:"command,omitempty"`
	// Since and Until are when it was; 0 where that says nothing.
	Since float64 `json:"since,omitempty"`
	Until float64 `json:"until,omitempty"`
}

// Top is who used most of something.
type Top struct {
	Title string     `json:"title"`
	Heads []string   `json:"heads"`
	Rows  [][]string `json:"rows"`
}

// Mark is something that happened: at an instant or, where To is later, for a time.
type Mark struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Kind string  `json:"kind"`
	Text string  `json:"text"`
	// Drawn says that it is marked in the plots, Grave that it is nothing usual.
	Drawn bool `json:"drawn,omitempty"`
	Grave bool `json:"grave,omitempty"`
}
