// The processes at the cursor: of tables that were read at some instants, the last
// one not after it.

var processColumns = [
  { id: 'name', title: 'Name' }, { id: 'pid', title: 'PID', right: true }, { id: 'user', title: 'User' },
  { id: 'cpu', title: 'CPU', right: true, form: { kind: 'percent' } }, { id: 'memory', title: 'Memory', right: true, form: { kind: 'bytes' } },
  { id: 'read', title: 'Read', right: true, form: { kind: 'bytes', suffix: '/s' } }, { id: 'written', title: 'Written', right: true, form: { kind: 'bytes', suffix: '/s' } },
  { id: 'threads', title: 'Threads', right: true, form: { kind: 'plain' } }, { id: 'age', title: 'Age', right: true, form: { kind: 'seconds' } }
];

// readTables unpacks the tables: which rows belong to which, and what they say.
function readTables(doc) {
  var p = doc.processes, process = doc.bits(p.process), sweep = doc.bits(p.sweep);
  var values = { cpu: doc.numbers(p.cpu), memory: doc.numbers(p.memory), read: doc.numbers(p.read), written: doc.numbers(p.written), threads: doc.numbers(p.threads) };
  var rows = p.at.map(function () { return []; });
  for (var i = 0; i < sweep.length; i++) { rows[sweep[i]].push(i); }
  return {
    at: p.at,
    // before is the number of the table last read at an instant, -1 if there is none.
    before: function (ms) {
      var found = -1;
      for (var i = 0; i < p.at.length && p.at[i] <= ms; i++) { found = i; }
      return found;
    },
    rows: function (k) {
      return rows[k].map(function (i) {
        var n = process[i];
        return {
          name: p.names[p.name[n]], pid: p.pids[n], user: p.users[p.user[n]], age: p.began[n] ? Math.max(p.at[k] / 1000 - p.began[n], 0) : null,
          cpu: values.cpu[i], memory: values.memory[i], read: values.read[i], written: values.written[i], threads: values.threads[i]
        };
      });
    }
  };
}

function processes(view) {
  var doc = view.doc;
  if (!doc.processes) { return null; }
  var tables = readTables(doc), shown = -2, order = 'cpu', down = true;
  var columns = processColumns.filter(function (c) {
    return c.id !== 'user' || doc.processes.users.some(function (u) { return u; });
  }).filter(function (c) { return c.id !== 'age' || doc.processes.began.some(function (b) { return b; }); });
  var body = make('tbody'), note = make('p', { class: 'note' }), heads = {};
  var fill = function () {
    if (shown < 0) { body.replaceChildren(); return; }
    var rows = tables.rows(shown);
    rows.sort(function (a, b) {
      var x = a[order], y = b[order];
      if (x === y) { return b.cpu - a.cpu || b.memory - a.memory || a.pid - b.pid; }
      if (x === null) { return 1; }
      if (y === null) { return -1; }
      return (x < y ? -1 : 1) * (down ? -1 : 1);
    });
    body.replaceChildren.apply(body, rows.map(function (r) {
      return make('tr', {}, columns.map(function (c, i) {
        var text = c.form ? write(c.form, r[c.id]) : String(r[c.id]);
        return make(i ? 'td' : 'th', { scope: i ? null : 'row', class: c.right ? 'number' : null }, text);
      }));
    }));
    columns.forEach(function (c) { heads[c.id].setAttribute('aria-sort', c.id === order ? down ? 'descending' : 'ascending' : 'none'); });
  };
  var head = make('tr', {}, columns.map(function (c) {
    heads[c.id] = make('th', { scope: 'col', class: c.right ? 'number' : null }, make('button', { type: 'button', class: 'sort', on: { click: function () {
      down = order === c.id ? !down : !!c.form;
      order = c.id;
      fill();
    } } }, c.title));
    return heads[c.id];
  }));
  var csv = make('button', { type: 'button', class: 'csv', 'aria-label': 'Processes at the cursor as CSV', on: { click: function () {
    var lines = [columns.map(function (c) { return c.id; }).join(',')];
    tables.rows(shown).forEach(function (r) {
      lines.push(columns.map(function (c) { return csvCell(r[c.id] === null ? '' : String(c.form ? Number(r[c.id].toPrecision(7)) : r[c.id])); }).join(','));
    });
    save(fileName(doc, 'processes'), 'text/csv', lines.join('\r\n') + '\r\n');
  } } }, 'CSV');
  view.adopters.push(function (next) {
    if (next.processes === doc.processes || !next.processes) { return; }
    doc = next;
    tables = readTables(doc);
    shown = -2;
  });
  view.listeners.push(function () {
    var at = view.at(), k = tables.before(at === null ? view.to : at);
    if (k === shown) { return; }
    shown = k;
    if (k < 0) {
      note.textContent = 'No processes were read before the cursor.';
    } else {
      var all = doc.processes.totals[k], some = tables.rows(k).length;
      note.textContent = 'As read at ' + view.clock.full(tables.at[k]) + ': ' + (some < all ? 'of ' + all + ' processes the ' + some + ' that used most' : all + ' processes') +
        '. There is one table for every ' + humanDuration(doc.processes.step / 1000) + '; move the cursor to see others.';
    }
    fill();
  });
  return section('processes', 'Processes at the cursor', make('div', { class: 'beside' }, note, csv),
    make('div', { class: 'scroll' }, make('table', { class: 'list processes' }, make('caption', { class: 'hidden' }, 'Processes at the cursor'), make('thead', {}, head), body)));
}
