package browse

import (
	"context"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// networkWanted says of which moment to read who used the network.
type networkWanted struct {
	at     int64
	serial int
}

// wantNetwork asks who used the network, as long as the screen shows it.
func (a *app) wantNetwork() {
	t, _ := a.overlay().(*text)
	if a.shownMoment == nil || a.page != pageNetwork && (t == nil || !t.network) {
		return
	}
	w := networkWanted{a.shownMoment.At, a.serial}
	if w == a.askedNetwork {
		return
	}
	a.askedNetwork = w
	e := a.engine
	a.w.ask(askNetwork, "reading who used the network", func(context.Context) func() {
		n, err := e.Network(w.at)
		return func() {
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			a.network = n
		}
	})
}

// fieldTable arranges rows as a table: what a row is called, and as many of the columns as fit, the
// first ones. Columns that are 0 or unknown in all rows are left out.
type fieldTable[T any] struct {
	head    string
	least   int                         // the least width of names
	title   func(T) (name, more string) // the name, and what stands beside it where there is room
	fields  []answer.Field[T]
	columns [][2]string // keys of fields, and their headings
	style   func(T) tcell.Style
	key     func(T) string     // the choice
	does    func(T) func(*app) // nil for a row that cannot be chosen
}

func (t *fieldTable[T]) lines(a *app, rows []T, width int) []line {
	th := a.c.theme
	type column struct {
		*answer.Field[T]
		head  string
		width int
	}
	var columns []column
	total := 0
	for _, c := range t.columns {
		f := answer.ByKey(t.fields, c[0])
		if !answer.Something(f, rows) {
			continue
		}
		w := human.Width(c[1])
		if f.Unit.Sizes {
			w = max(w, human.Width("1023 MB/s")) // so that a column keeps its place from moment to moment
		}
		for _, r := range rows {
			w = max(w, human.Width(f.Text(r)))
		}
		if total+w+2 > width-t.least {
			break
		}
		columns = append(columns, column{f, c[1], w})
		total += w + 2
	}
	names := human.Width(t.head)
	for _, r := range rows {
		name, more := t.title(r)
		names = max(names, human.Width(visible.Text(name+more)))
	}
	names = max(min(names, width-total), 1)
	head := line{spans: []span{{human.Pad(human.Cut(t.head, names), names, false), th.head}}}
	for _, c := range columns {
		head.spans = append(head.spans, span{"  " + human.Pad(c.head, c.width, c.Numeric()), th.head})
	}
	out := []line{head}
	for _, r := range rows {
		name, more := t.title(r)
		name = human.Cut(visible.Text(name), names)
		more = human.Cut(visible.Text(more), names-human.Width(name))
		l := line{key: t.key(r), spans: []span{{name, t.style(r)}, {human.Pad(more, names-human.Width(name), false), th.faint}}}
		if t.does != nil {
			l.does = t.does(r)
		}
		for _, c := range columns {
			l.spans = append(l.spans, span{"  " + human.Pad(c.Text(r), c.width, c.Numeric()), t.style(r)})
		}
		out = append(out, l)
	}
	return out
}

// userLines returns who used the network at the moment: processes or, as on their page, owners.
func (a *app) userLines(width int) []line {
	n := a.network
	if n == nil {
		return nil
	}
	th := a.c.theme
	use, group := n.Processes, query.PerProcess
	if a.owners && n.Owners != nil {
		use, group = n.Owners, query.PerOwner
	}
	out := []line{{}}
	count := func(s *query.Sockets, thing, key, word string) {
		if s != nil {
			out = append(out, line{spans: []span{{key, th.bold}, {" " + cli.Count(len(s.List), thing) + word, th.faint}}})
		}
	}
	count(n.Connections, "connection", "i", ", those that transferred most and those in trouble")
	count(n.Ports, "port", "P", " that programs listen on")
	if use != nil {
		rows := answer.NetRows(use, query.ByNet, group)
		rows = slices.DeleteFunc(rows, func(r answer.NetRow) bool { return r.Row == answer.RowTotal })
		if len(rows) == 0 {
			out = append(out, line{}, said("no process used the network", th.faint))
		} else {
			t := fieldTable[answer.NetRow]{head: "USED BY", least: leastName, fields: answer.Net, columns: userColumns, title: userTitle, key: userKey,
				style: a.userStyle, does: userDoes}
			out = append(append(out, line{}), t.lines(a, rows, width)...)
		}
	}
	return out
}

// userColumns are the columns of those who used the network.
var userColumns = [][2]string{{"in_rate", "IN"}, {"out_rate", "OUT"}, {"resent", "RESENT"}, {"connections", "CONN"}, {"opened", "OPENED"},
	{"accepted", "ACCEPTED"}, {"refused", "REFUSED"}, {"failed", "FAILED"}}

func userTitle(r answer.NetRow) (name, more string) {
	switch {
	case r.Consumer == nil:
		return "(" + answer.ByKey(answer.Net, "name").Text(r) + ")", ""
	case r.Row == answer.RowProcess:
		return r.Consumer.Name, fmt.Sprintf("  %d", query.ProcessID(r.Consumer.Instance))
	}
	return r.Consumer.Name, (&owner{kind: r.Consumer.Owned, count: r.Consumer.Count}).text()
}

func userKey(r answer.NetRow) string {
	switch {
	case r.Consumer == nil:
		return ""
	case r.Row == answer.RowProcess:
		return r.Consumer.Archive.BootID + "/" + r.Consumer.Instance.Key
	}
	return ownerKey + r.Consumer.Owned + "\x00" + r.Consumer.Name
}

// manyResent is the share of what is sent that is sent again where something is wrong.
const manyResent = 0.05

func (a *app) userStyle(r answer.NetRow) tcell.Style {
	switch {
	case r.Consumer == nil:
		return a.c.theme.faint
	case r.Resent() >= manyResent:
		return a.c.theme.warn
	}
	return a.c.theme.plain
}

// userDoes opens the connections of a process or an owner.
func userDoes(r answer.NetRow) func(*app) {
	if r.Consumer == nil {
		return nil
	}
	c := r.Consumer
	if r.Row == answer.RowProcess {
		return func(a *app) { a.showConnections(ofProcess(c.Name, c.Archive.BootID, c.Instance.Key)) }
	}
	return func(a *app) { a.showConnections(ofOwner(c.Owned, c.Name)) }
}

// talkers says whose connections a window shows.
type talkers struct {
	title string
	has   func(*metric.Instance) bool // nil for all
	life  string                      // the key of the process
	args  []string                    // for replay net
}

func ofProcess(name, boot, key string) talkers {
	return talkers{title: "connections of " + name, life: boot + "/" + key, args: []string{name},
		has: func(in *metric.Instance) bool { return in.Label("process") == key }}
}

func ofOwner(kind, name string) talkers {
	t := talkers{title: "connections of " + name, args: []string{kind + "=" + name},
		has: func(in *metric.Instance) bool { k, n := in.MainOwner(); return k == kind && n == name }}
	if kind == "" {
		t.args = nil
	}
	return t
}

// chosenConnections shows the connections of what is chosen on the page of processes; on other
// pages all.
func (a *app) chosenConnections() {
	of := talkers{title: "connections"}
	if rows := a.rows(); a.page == pageProcesses {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.p.Key == a.lists[pageProcesses].chosen }); i >= 0 {
			p := rows[i].p
			if of = ofProcess(p.Name, p.Archive.BootID, p.Instance.Key); rows[i].owner != nil {
				of = ofOwner(rows[i].owner.kind, p.Name)
			}
		}
	}
	a.showConnections(of)
}

// showConnections opens a window with connections.
func (a *app) showConnections(of talkers) {
	a.networkWindow(of.title, append(slices.Clone(of.args), "--connections"), func(a *app, width int) []line { return a.connectionLines(of, width) })
}

// showPorts opens a window with the ports that are listened on.
func (a *app) showPorts() {
	a.networkWindow("ports that programs listen on", []string{"--listeners"}, (*app).portLines)
}

// networkWindow opens a window; args are for the command that prints the same.
func (a *app) networkWindow(title string, args []string, lines func(*app, int) []line) {
	if a.engine == nil {
		return
	}
	a.put(&text{title: title, choice: true, chosen: -1, network: true, keys: "Enter: life of the process", lines: lines,
		command: slices.Concat([]string{"net"}, args, []string{"--at", stamp(a.at, a.Zone)})})
}

// noNetwork says why there is nothing to show.
func (a *app) noNetwork(width int) []line {
	if a.w.asking(askNetwork) || a.askedNetwork == (networkWanted{}) {
		return nil
	}
	return wrapped("no connections were recorded at this moment", width, a.c.theme.faint)
}

func (a *app) connectionLines(of talkers, width int) []line {
	if a.network == nil || a.network.Connections == nil {
		return a.noNetwork(width)
	}
	th := a.c.theme
	rows := answer.ConnectionRows([]*query.Sockets{a.network.Connections}, 0)
	if of.has != nil {
		rows = slices.DeleteFunc(rows, func(r answer.SocketRow) bool { return r.Socket == nil || !of.has(r.Socket.Instance) })
	}
	out := []line{said("from "+a.clockBeside(a.network.Connections.From)+" to "+a.clockBeside(a.network.Connections.To), th.faint)}
	if of.life != "" {
		out = append(out, line{spans: []span{{"life of the process", th.plain}}, does: func(a *app) { a.life(of.life) }})
	}
	if len(rows) == 0 {
		return append(out, wrapped("none has values of its own: others transferred more", width, th.faint)...)
	}
	t := fieldTable[answer.SocketRow]{head: "CONNECTION", least: leastConnection, fields: answer.Connections, columns: connectionColumns, title: func(r answer.SocketRow) (string, string) {
		if r.Socket == nil {
			return "(" + answer.ByKey(answer.Connections, "connection").Text(r) + ")", ""
		}
		return r.Socket.Instance.Name, ""
	}, key: func(answer.SocketRow) string { return "" }, style: func(r answer.SocketRow) tcell.Style {
		switch s := r.Socket; {
		case s == nil:
			return th.faint
		case s.Ended:
			return th.gone
		case s.Last[query.SocketRetries] > 0 || answer.Resent(r.Out, r.Retrans) >= manyResent:
			return th.warn
		}
		return th.plain
	}, does: lifeOf}
	return append(out, t.lines(a, rows, width)...)
}

// connectionColumns are the columns of connections, whose names say who, with whom and over which
// ports, in leastConnection letters at least.
var connectionColumns = [][2]string{{"in_rate", "IN"}, {"out_rate", "OUT"}, {"rtt", "RTT"}, {"resent", "RESENT"}, {"retries", "RETRIES"}, {"state", "STATE"},
	{"age", "AGE"}, {"cwnd", "WINDOW"}}

const leastConnection = 26

// portColumns are the columns of ports.
var portColumns = [][2]string{{"backlog", "WAITING"}, {"limit", "LIMIT"}, {"dropped", "DROPPED"}, {"connections", "CONN"}}

func (a *app) portLines(width int) []line {
	if a.network == nil || a.network.Ports == nil {
		return a.noNetwork(width)
	}
	th := a.c.theme
	rows := answer.ListenerRows([]*query.Sockets{a.network.Ports}, 0)
	if len(rows) == 0 {
		return []line{said("no program listens", th.faint)}
	}
	t := fieldTable[answer.SocketRow]{head: "PORT", least: leastName, fields: answer.Listeners, columns: portColumns, title: func(r answer.SocketRow) (string, string) {
		in := r.Socket.Instance
		whose := "  " + in.Label("name")
		if _, owner := in.MainOwner(); owner != "" && owner != in.Label("name") {
			whose += ", " + owner
		}
		return in.Name, whose
	}, key: func(answer.SocketRow) string { return "" }, style: func(r answer.SocketRow) tcell.Style {
		switch s := r.Socket; {
		case s.Ended:
			return th.gone
		case s.Gains[query.Drops] > 0:
			return th.alarm
		case s.Last[query.Backlog] > 0 && s.Last[query.Backlog] >= s.Last[query.BacklogLimit]:
			return th.warn
		}
		return th.plain
	}, does: lifeOf}
	return append([]line{said("from "+a.clockBeside(a.network.Ports.From)+" to "+a.clockBeside(a.network.Ports.To), th.faint)}, t.lines(a, rows, width)...)
}

// lifeOf opens the life of the process of a connection or a port.
func lifeOf(r answer.SocketRow) func(*app) {
	if r.Socket == nil || r.Socket.Instance.Label("process") == "" {
		return nil
	}
	key := r.Socket.Archive.BootID + "/" + r.Socket.Instance.Label("process")
	return func(a *app) { a.life(key) }
}

// chooseUser moves the choice among those who used the network; above the first there is none, so
// that what is above them can be seen.
func (a *app) chooseUser(by int) {
	l := &a.lists[pageNetwork]
	lines := a.lines(pageNetwork, 80)
	var rows []int
	at := -1
	for i, one := range lines {
		if one.does == nil {
			continue
		}
		if one.key == l.chosen {
			at = len(rows)
		}
		rows = append(rows, i)
	}
	switch next := at + by; {
	case len(rows) == 0 || next < 0:
		l.chosen = ""
		l.top = max(l.top+by, 0)
	default:
		l.chosen = lines[rows[min(next, len(rows)-1)]].key
	}
}

// enterUser opens the connections of the chosen row, else those of the first. It returns false if
// there is none.
func (a *app) enterUser() bool {
	var first func(*app)
	for _, one := range a.lines(pageNetwork, 80) {
		if one.does == nil {
			continue
		}
		if first == nil || one.key == a.lists[pageNetwork].chosen {
			first = one.does
		}
	}
	if first != nil {
		first(a)
	}
	return first != nil
}
