// What has been recorded since, put to what a page has.

// What has come since begins so long before, in milliseconds; and so long it takes then
// until all that is drawn has been read.
var overlap = 45000, settling = 15000;

// merge is a page's data with the columns of another one that goes on with it, over
// so many milliseconds at most. Where both tell of a column the later one is right:
// what was read late, or tells of the time before, is in it.
function merge(doc, more, length) {
  var offset = Math.round((more.first - doc.first) / doc.step);
  var begins = more.from > doc.to - overlap; // the recording does
  var skip = begins ? 0 : Math.ceil((more.from + settling - more.first) / doc.step);
  var to = Math.max(more.to, doc.to), from = Math.max(doc.from, to - length);
  var drop = Math.max(Math.floor((from - doc.first) / doc.step), 0);
  var n = Math.max(doc.columns, offset + more.columns) - drop;
  var join = function (old, young) {
    var out = new Array(n);
    for (var i = 0; i < n; i++) {
      var k = i + drop, own = young && k >= offset + skip && k < offset + more.columns ? young[k - offset] : null;
      out[i] = own === null && old && k < doc.columns ? old[k] : own;
    }
    return out;
  };
  var of = function (d, l, which) {
    var x = l && (l[which] || l.mean);
    return !x || Array.isArray(x) ? x : d.numbers(x);
  };
  var line = function (old, young) {
    var out = Object.assign({}, old || young, { mean: join(of(doc, old, 'mean'), of(more, young, 'mean')) });
    var spread = old && old.high || young && young.high;
    out.low = spread ? join(of(doc, old, 'low'), of(more, young, 'low')) : 0;
    out.high = spread ? join(of(doc, old, 'high'), of(more, young, 'high')) : 0;
    return out;
  };
  var plots = doc.plots.map(function (plot) {
    var young = more.plots.find(function (p) { return p.id === plot.id; });
    var rest = young ? young.series.slice() : [];
    if (isOfNames(plot)) { rest = byName(plot, rest.map(function (s) { return { name: s.name, mean: of(more, s, 'mean') }; })); }
    var series = plot.series.map(function (old) {
      var k = rest.findIndex(function (s) { return s.name === old.name; });
      return line(old, k < 0 ? null : rest.splice(k, 1)[0]);
    });
    if (isOfNames(plot)) { return sumUp(Object.assign({}, plot, { series: series })); }
    // What has come to be more than nothing is new; what there are too many of is not drawn.
    rest.forEach(function (s) {
      if (!plot.more && more.numbers(s.high || s.mean).some(function (x) { return x; })) { series.push(line(null, s)); }
    });
    return sumUp(Object.assign({}, plot, { series: series }));
  });
  var known = {}, events = (doc.events || []).concat(more.events || []).filter(function (e) {
    var key = [e.from, e.kind, e.text].join(' ');
    return e.from >= from && !known[key] && (known[key] = true);
  });
  var breaks = (doc.breaks || []).filter(function (b) { return b.to > from && b.to <= more.from; }).concat(more.breaks || []);
  var base = doc.base || doc; // what was loaded whole; of what came later nothing else is held
  return Object.assign({}, doc, {
    processes: mergeTables(doc, more), base: base, bits: function (block) { return Array.isArray(block) ? block : base.bits(block); },
    from: from, to: to, first: doc.first + drop * doc.step, columns: n, plots: plots, events: events, breaks: breaks,
    length: humanDuration((to - from) / 1000), numbers: function (block) { return Array.isArray(block) ? block : base.numbers(block); }
  });
}

// isOfNames says that a plot stacks processes by name, the last of them all others.
function isOfNames(plot) { return plot.id.indexOf('processes-') === 0; }

// byName are series that tell of all names, as a plot has them: those that it does not
// have are summed up in its last one, and who is not there used nothing.
function byName(plot, all) {
  var n = all.length ? all[0].mean.length : 0, read = new Array(n).fill(null);
  all.forEach(function (s) { s.mean.forEach(function (x, i) { if (x !== null) { read[i] = 0; } }); });
  var own = {};
  plot.series.forEach(function (s) { if (!s.rest) { own[s.name] = true; } });
  return plot.series.map(function (s) {
    var sum = read.slice();
    all.forEach(function (y) {
      if (s.rest ? own[y.name] : y.name !== s.name) { return; }
      y.mean.forEach(function (x, i) { if (x !== null) { sum[i] += x; } });
    });
    return { name: s.name, mean: sum };
  });
}

// mergeTables are the process tables of a page with those that have been read since.
function mergeTables(doc, more) {
  var old = doc.processes, young = more.processes;
  if (!old || !young) { return old; }
  var last = old.at[old.at.length - 1], place = {}, at = old.at.slice(), totals = old.totals.slice();
  young.at.forEach(function (ms, k) {
    if (ms > last) {
      place[k] = at.length;
      at.push(ms);
      totals.push(young.totals[k]);
    }
  });
  var rows = [];
  Array.from(more.bits(young.sweep)).forEach(function (k, i) { if (k in place) { rows.push(i); } });
  var join = function (a, b, by) { return Array.from(a).concat(rows.map(function (i) { return by(b[i]); })); };
  var same = function (x) { return x; }, shift = function (n) { return function (x) { return x + n; }; };
  var out = {
    step: old.step, at: at, totals: totals, names: old.names.concat(young.names), users: old.users.concat(young.users),
    pids: old.pids.concat(young.pids), began: old.began.concat(young.began),
    name: old.name.concat(young.name.map(shift(old.names.length))), user: old.user.concat(young.user.map(shift(old.users.length))),
    process: join(doc.bits(old.process), more.bits(young.process), shift(old.pids.length)),
    sweep: join(doc.bits(old.sweep), more.bits(young.sweep), function (k) { return place[k]; })
  };
  ['cpu', 'memory', 'read', 'written', 'threads'].forEach(function (f) { out[f] = join(doc.numbers(old[f]), more.numbers(young[f]), same); });
  return out;
}

// sumUp tells what the series of a plot came to, over the columns that it has.
function sumUp(plot) {
  plot.series.forEach(function (s) {
    var sum = 0, n = 0, most = null;
    s.mean.forEach(function (x, i) {
      if (x === null) { return; }
      sum += x;
      n++;
      var high = s.high ? s.high[i] : x;
      if (most === null || high > most) { most = high; }
    });
    s.average = write(plot.form, n ? sum / n : null);
    s.most = write(plot.form, most);
  });
  return plot;
}
