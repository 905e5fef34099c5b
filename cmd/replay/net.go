package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func netCommand(a *app) *cobra.Command {
	f := &netFlags{}
	cmd := &cobra.Command{
		Use:   "net [PATTERN|PID...]",
		Short: "Who used the network over a window, and with whom",
		Long: `net ranks processes by the bytes that they received and sent over the window,
connections included that were shorter than the time between two readings. What
had to be sent again is not in what was sent: it has a column of its own, with its
share of all that was sent. OPEN are the connections at the end of the window.

The rows add up to the total, which is that of all connections. What processes did
between their last reading and their end is a row, and so is what nobody can be named
for: connections that were gone before it was known whose they were.

--group adds up processes as replay top does: those of the same app, service,
container, pod, session, owner or name. --protocol and --medium count only a part of
the bytes, where the kernel says what part it is. --at is about the time between two
readings at a moment.

--peers lists who was on the other side, --connections the single connections, and
--listeners the ports that are listened on. A recorder lists those connections that
transferred most since it last looked, and those in trouble. The rest is a row, "not
listed": other connections, and what the listed ones did before they were listed.

A PATTERN chooses processes: a name, a glob or /regexp/, or an owner: app=Safari,
unit=nginx*, container=web*, pod=, session=, owner=.`,
		Example: `  replay net --from 03:00 --to 03:10
  replay net --group owner --from -24h --by out
  replay net --at 03:12 --connections
  replay net app=Safari --peers
  replay net --listeners`,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := query.NewMatcher(args)
			if err != nil {
				return err
			}
			q := &netAnswer{a, m, f, args}
			if err := q.check(cmd); err != nil {
				return err
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if f.at != "" {
				if w.To, err = a.moment(f.at, w); err != nil {
					return err
				}
			}
			if err := q.answer(w); err != nil {
				return err
			}
			if query.Grouping(f.group).OfOwners() || query.MeansOwners(args) {
				a.tellUnowned(w)
			}
			a.tellDoubtsOf(w, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", "", "a moment, in the place of a window")
	fl.StringVar(&f.by, "by", "net", "net (in and out), in, out, retrans, connections or opened")
	fl.StringVar(&f.group, "group", "process", "process, name, user, parent, owner, app, service, container, pod or session")
	fl.StringVar(&f.protocol, "protocol", "", "only bytes over tcp, udp or quic")
	fl.StringVar(&f.medium, "medium", "", "only bytes over loopback, wifi, wired or cellular")
	fl.BoolVar(&f.peers, "peers", false, "who was on the other side")
	fl.BoolVar(&f.connections, "connections", false, "the single connections")
	fl.BoolVar(&f.listeners, "listeners", false, "the ports that are listened on")
	fl.StringSliceVar(&f.more, "columns", nil, columnsUsage)
	fl.IntVarP(&f.n, "number", "n", 20, "how many; 0 for all")
	return cmd
}

// netLists are the flags that ask for a list of something else than processes.
var netLists = []string{"peers", "connections", "listeners"}

// inNet are the columns that the table has anyhow.
var inNet = append(slices.Clone(answer.InNet), "pid", "processes", "name")

// check refuses what net does not have, and flags that do not go together.
func (q *netAnswer) check(cmd *cobra.Command) error {
	f := q.f
	if err := choice("by", query.By(f.by), query.NetBys); err != nil {
		return err
	}
	if err := choice("group", query.Grouping(f.group), query.Groupings); err != nil {
		return err
	}
	if f.protocol != "" {
		if err := choice("protocol", f.protocol, query.Protocols); err != nil {
			return err
		}
	}
	if f.medium != "" {
		if err := choice("medium", f.medium, query.Media); err != nil {
			return err
		}
	}
	switch {
	case f.protocol != "" && f.medium != "":
		return errors.New("bytes are counted over protocols and over media, not over both: leave --protocol or --medium out")
	case f.protocol+f.medium != "" && !slices.Contains([]query.By{query.ByNet, query.ByNetIn, query.ByNetOut}, query.By(f.by)):
		return fmt.Errorf("--by %s: only bytes in and out are counted over %s alone", f.by, f.protocol+f.medium)
	case f.at != "" && (q.a.From != "" || q.a.To != ""):
		return errors.New("--at is a moment, and --from and --to are a window: leave one of them out")
	}
	list := ""
	for _, name := range netLists {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if list != "" {
			return fmt.Errorf("--%s and --%s are two lists: leave one of them out", list, name)
		}
		list = name
	}
	if list == "" {
		return furtherColumns(answer.Net, f.more, inNet)
	}
	for _, name := range []string{"by", "group", "protocol", "medium", "columns"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is about processes: leave it out with --%s", name, list)
		}
	}
	return nil
}

// answer writes the list that is asked for.
func (q *netAnswer) answer(w query.Window) error {
	switch at := q.f.at != ""; {
	case q.f.connections:
		keys := answer.InConnections
		if at {
			keys = answer.InConnectionsAt
		}
		return q.sockets(w, query.Connections, answer.ConnectionRows, answer.Connections, keys, "connection")
	case q.f.peers:
		keys := answer.InPeers
		if at {
			keys = answer.InPeersAt
		}
		return q.sockets(w, query.Connections, answer.PeerRows, answer.Peers, keys, "connection")
	case q.f.listeners:
		return q.sockets(w, query.Listeners, answer.ListenerRows, answer.Listeners, answer.InListeners, "listener")
	}
	return q.ranking(w)
}

// sockets writes a list of connections, peers or ports.
func (q *netAnswer) sockets(w query.Window, read func(query.Archive, query.Window, *query.Matcher, bool) ([]*query.Sockets, error),
	rowsOf func([]*query.Sockets, int) []answer.SocketRow, fields []answer.Field[answer.SocketRow], keys []string, what string) error {
	list, err := read(q.a.Archive, w, q.m, q.f.at != "")
	if err != nil {
		return err
	}
	rows := rowsOf(list, q.f.n)
	from, to := list[0].From, list[0].To
	for _, s := range list {
		from, to = min(from, s.From), max(to, s.To)
	}
	if len(rows) == 0 {
		of := ""
		if !q.m.All() {
			of = " of a process " + strings.Join(q.args, ", ")
		}
		return nothing("no %s%s between %s and %s", what, of, q.a.Show(from), q.a.Show(to))
	}
	host := func(r answer.SocketRow) out.Cell { return hostCell(&r.Of.Archive.Host) }
	return q.a.present(func() error {
		q.a.prose(fmt.Sprintf("%s to %s (%s)", q.a.Show(from), q.a.Show(to), durationText(to-from)))
		q.a.stdout.Println()
		var shown []answer.Field[answer.SocketRow]
		for _, key := range keys {
			if f := answer.ByKey(fields, key); q.always(key, f.Keep) || answer.Something(f, rows) {
				shown = append(shown, kept(f, q.always(key, f.Keep)))
			}
		}
		return writeFields(q.a, shown, rows, host, nil)
	}, func() error { return writeFields(q.a, answer.Named(fields), rows, host, q.socketCheck) })
}

// ranking writes who used the network.
func (q *netAnswer) ranking(w query.Window) error {
	u, err := query.Net(q.a.Archive, w, query.NetQuestion{Matcher: q.m, By: query.By(q.f.by), Group: query.Grouping(q.f.group), N: q.f.n,
		Over: q.f.protocol + q.f.medium, Last: q.f.at != ""})
	if err != nil {
		return err
	}
	if u.N == 0 && !q.m.All() {
		if err := query.NoOwners(q.a.Archive, q.args); err != nil {
			return err
		}
		return nothing("no process %s between %s and %s%s", strings.Join(q.args, ", "), q.a.Show(u.From), q.a.Show(u.To),
			query.Suggest(q.args[0], processNames(q.a.Archive, w)))
	}
	rows := answer.NetRows(u, query.By(q.f.by), query.Grouping(q.f.group))
	for _, t := range u.Hosts {
		if len(u.Consumers) > 0 {
			q.notes(t)
		}
	}
	return q.a.present(func() error { return q.text(u, rows) }, func() error { return writeFields(q.a, answer.Named(answer.Net), rows, netHost, q.netCheck) })
}

// notes says what is known not to be in an answer.
func (q *netAnswer) notes(t *query.Traffic) {
	host := ""
	if q.a.ManyHosts() {
		host = t.Archive.Host.Name + ": "
	}
	if t.Datagrams > 0 {
		q.a.tell(fmt.Sprintf("%snot counted: the bytes of %s datagrams of UDP: %s", host, human.Count(t.Datagrams), t.Why))
	}
	if t.Lost > 0 {
		q.a.tell(fmt.Sprintf("%snot counted: the last bytes of %s that closed while the kernel had no room to report it", host, cli.Count(int(t.Lost), "connection")))
	}
	if t.Namespaces > 0 {
		q.a.tell(fmt.Sprintf("%snot counted: connections in %s that the recorder cannot read", host, cli.Count(int(t.Namespaces), "network namespace")))
	}
}

func netHost(r answer.NetRow) out.Cell { return hostCell(&r.Of.Archive.Host) }

// text prints a ranking below the window that it covers.
func (q *netAnswer) text(u *query.NetUse, rows []answer.NetRow) error {
	over := ""
	if u.Over != "" {
		over = " over " + u.Over
	}
	if len(u.Consumers) == 0 {
		q.a.complain(fmt.Sprintf("no process used the network%s between %s and %s", over, q.a.Show(u.From), q.a.Show(u.To)))
		return nil
	}
	q.a.prose(fmt.Sprintf("%s to %s (%s), %s%s", q.a.Show(u.From), q.a.Show(u.To), durationText(u.To-u.From), cli.Count(u.N, "process"), over))
	q.a.stdout.Println()
	keys := []string{"pid"}
	switch query.Grouping(q.f.group) {
	case query.PerProcess:
	case query.PerOwner:
		keys = []string{"processes", "kind"}
	default:
		keys = []string{"processes"}
	}
	var fields []answer.Field[answer.NetRow]
	shown := answer.InNet
	if q.f.at != "" {
		shown = answer.InNetAt
	}
	for _, key := range slices.Concat(keys, shown) {
		if f := answer.ByKey(answer.Net, key); q.always(key, f.Keep) || answer.Something(f, rows) {
			fields = append(fields, kept(f, q.always(key, f.Keep)))
		}
	}
	for _, key := range append(slices.Clone(q.f.more), "name") {
		fields = append(fields, *answer.ByKey(answer.Net, key))
	}
	return writeFields(q.a, fields, rows, netHost, nil)
}

// always reports whether a column stays where the terminal is too narrow: of a moment, the rates do.
func (q *netAnswer) always(key string, keep int) bool {
	return keep == out.Always || q.f.at != "" && (key == "in_rate" || key == "out_rate")
}

// kept returns a field whose column stays if always is set.
func kept[T any](f *answer.Field[T], always bool) answer.Field[T] {
	k := *f
	if always {
		k.Keep = out.Always
	}
	return k
}

// writeFields writes rows with fields: for people, or with check for programs. It says of a row which
// metrics it is of, and with which arguments replay shows them.
func writeFields[T any](a *app, fields []answer.Field[T], list []T, host func(T) out.Cell, check func(T) (metrics, more []string)) error {
	var columns []out.Column
	for _, f := range fields {
		if check != nil {
			columns = append(columns, out.Column{Name: f.Name, Kind: f.Kind()})
		} else {
			columns = append(columns, f.Column())
		}
	}
	if check != nil {
		columns = append(columns, out.Column{Name: "metrics", Only: out.InJSON}, out.Column{Name: "command", Only: out.InJSON})
	}
	rows, err := a.rows(columns...)
	if err != nil {
		return err
	}
	for _, r := range list {
		cells := []out.Cell{host(r)}
		for _, f := range fields {
			if check != nil {
				cells = append(cells, f.Cell(r))
			} else {
				cells = append(cells, answer.Text(f.Text(r)))
			}
		}
		if check != nil {
			metrics, more := check(r)
			command := ""
			if more != nil {
				command = a.moreCommand(cells[0].S, more, false)
			}
			cells = append(cells, out.Texts(metrics), answer.Text(command))
		}
		if err := rows.Row(cells); err != nil {
			return err
		}
	}
	return rows.Close()
}
