// What the page says in words and tables.

// renewed is a part of the page that is made again when other data says other things;
// not while the keyboard is in it.
function renewed(view, key, build) {
  var nothing = function () { return make('div', { hidden: '' }); };
  var was = JSON.stringify(key(view.doc)), el = build(view) || nothing();
  view.adopters.push(function (doc) {
    var now = JSON.stringify(key(doc));
    if (now === was || el.contains(document.activeElement)) { return; }
    was = now;
    var next = build(view) || nothing();
    el.replaceWith(next);
    el = next;
  });
  return el;
}

function header(view) {
  var doc = view.doc, clock = view.clock;
  var facts = (doc.host.facts || []).map(function (f) { return make('div', {}, make('dt', {}, f[0]), make('dd', {}, f[1])); });
  var span = make('p', { class: 'span' });
  var fill = function (doc) { span.textContent = clock.full(doc.from) + ' to ' + clock.full(doc.to) + ' (' + doc.length + ')' + (doc.asked ? ', ' + doc.asked : ''); };
  fill(doc);
  view.adopters.push(fill);
  return make('header', { class: 'top' },
    make('h1', {}, doc.host.name), span,
    make('dl', { class: 'facts' }, facts));
}

// summary is what was out of the ordinary, the cause first.
function summary(view) {
  var doc = view.doc;
  var items = (doc.summary || []).map(function (s) {
    var show = s.since ? button(view.clock.span(s.since, s.until), 'Show this time in the plots', function () {
      var until = Math.max(s.until || s.since, s.since), pad = Math.max((until - s.since) / 2, 60000, view.doc.step * 20);
      view.zoom(s.since - pad, until + pad);
      view.pin(s.since);
    }) : null;
    return make('li', {}, make('span', { class: 'sentence' }, s.text), show ? ' ' : null, show, s.command ? make('code', {}, s.command) : null);
  });
  if (!items.length) { return null; }
  var notes = [];
  if (doc.looked) { notes.push('Of ' + doc.looked + '.'); }
  if (doc.against) { notes.push('Compared with the calm time ' + doc.against + '.'); }
  return section('summary', doc.ordinary ? 'Nothing out of the ordinary' : 'What was out of the ordinary',
    notes.length ? make('p', { class: 'note' }, notes.join(' ')) : null, make('ol', { class: doc.ordinary ? 'sentences calm' : 'sentences' }, items));
}

// vitals are the vital numbers over the window.
function vitals(view) {
  var doc = view.doc;
  if (!doc.gauges) { return null; }
  return section('vitals', 'At a glance', table('.Vital numbers over the window', ['What', 'Mean', 'Max', 'At', 'Last'], doc.gauges.map(function (g) {
    return g.map(function (text, i) { return i === 3 ? make('time', {}, text) : text; });
  }), 1));
}

function hint() {
  return make('p', { class: 'note hint' }, 'Drag across a plot to zoom all of them, double-click to see everything again; click to leave the cursor. With the focus in a plot: arrows move the cursor (with Shift ten columns), n and p go to the next and previous event, + and - zoom, Escape goes back.');
}

// events are what happened, and the times in which nothing was recorded.
function events(view) {
  var doc = view.doc, breaks = doc.breaks || [];
  // A break is told once, not also by the event at its end.
  var all = breaks.concat((doc.events || []).filter(function (e) {
    return !breaks.some(function (b) { return b.kind === e.kind && Math.abs(b.to - e.from) < 2000; });
  }));
  all.sort(function (a, b) { return a.from - b.from; });
  if (!all.length && !doc.everyday) { return null; }
  var few = 60, body = make('tbody');
  var row = function (m) {
    var text = m.to > m.from ? view.clock.full(m.from) + ', for ' + humanDuration((m.to - m.from) / 1000) : view.clock.full(m.from);
    return make('tr', { class: m.grave ? 'grave' : m.to > m.from ? 'break' : null },
      make('td', {}, button(text, 'Show ' + text + ' in the plots', function () {
        var pad = Math.max((m.to - m.from) * 0.2, view.doc.step * 60);
        view.zoom(m.from - pad, m.to + pad);
        view.pin(m.from);
      })), make('td', {}, m.kind), make('td', {}, m.text));
  };
  all.slice(0, few).forEach(function (m) { body.append(row(m)); });
  var notes = [];
  if (doc.moreEvents) { notes.push(doc.moreEvents + ' more events are not on this page: replay events lists them.'); }
  if (doc.everyday) { notes.push('Besides, ' + humanCount(doc.everyday) + ' events of processes that started or ended.'); }
  var more = all.length > few ? button('Show all ' + all.length, 'Show all events', function () {
    all.slice(few).forEach(function (m) { body.append(row(m)); });
    more.remove();
  }) : null;
  return section('events', 'Events', all.length ? make('div', { class: 'scroll' }, make('table', { class: 'list events' }, make('caption', { class: 'hidden' }, 'Events and breaks'),
    make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'When'), make('th', { scope: 'col' }, 'What'), make('th', { scope: 'col' }, 'Of it'))), body)) : null,
    more, notes.length ? make('p', { class: 'note' }, notes.join(' ')) : null);
}

// tops are who used most over the window.
function tops(view) {
  if (!view.doc.tops) { return null; }
  return section('tops', 'Who used most', make('p', { class: 'note' }, 'Processes of the same name together, by exact totals over the window.'),
    make('div', { class: 'tops' }, view.doc.tops.map(function (t) { return table(t.title, t.heads, t.rows, 1); })));
}

// ports are those that dropped connections.
function ports(view) {
  var t = view.doc.ports;
  if (!t) { return null; }
  return section('ports', t.title, make('p', { class: 'note' }, 'More connections came than the programs accepted, so that the kernel dropped some.'), table('.' + t.title, t.heads, t.rows, 2));
}

function absent(view) {
  var doc = view.doc;
  if (!doc.absent) { return null; }
  return section('absent', 'Not on this page', make('ul', {}, doc.absent.map(function (a) { return make('li', {}, a.what + ': ' + a.why); })));
}

// footer is where all this comes from.
function footer(doc) {
  var lines = (doc.archives || []).slice(0, 40).map(function (a) { return make('li', {}, a.path + (a.size ? ' (' + a.size + ')' : '') + ', ' + a.span + ', id ' + a.id); });
  if ((doc.archives || []).length > 40) { lines.push(make('li', {}, 'and ' + (doc.archives.length - 40) + ' more')); }
  return make('footer', {},
    doc.command ? make('p', {}, 'Made by ', make('code', {}, doc.command)) : null,
    make('p', {}, 'replay ' + doc.version + (doc.made ? ', ' + doc.made : '') + '. Times are of the zone ' + doc.zone.name + '. Each column of the plots is ' + humanDuration(doc.step / 1000) + '.'),
    make('p', {}, 'Read from:'), make('ul', {}, lines),
    make('details', { 'aria-label': 'Licence of uPlot' }, make('summary', {}, 'Plots are drawn by uPlot 1.6.32 (MIT)'), make('pre', {}, licence)));
}
