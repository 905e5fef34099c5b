// The page around the plots.

// make is an element; strings among its content become text, never markup.
function make(name, attributes) {
  var el = document.createElement(name);
  Object.keys(attributes || {}).forEach(function (k) {
    if (k === 'on') {
      Object.keys(attributes.on).forEach(function (e) { el.addEventListener(e, attributes.on[e]); });
    } else if (attributes[k] !== null && attributes[k] !== undefined) {
      el.setAttribute(k, attributes[k]);
    }
  });
  for (var i = 2; i < arguments.length; i++) {
    [arguments[i]].flat(Infinity).forEach(function (c) {
      if (c !== null && c !== undefined) { el.append(c); }
    });
  }
  return el;
}

function button(text, label, act) {
  return make('button', { type: 'button', 'aria-label': label, title: label, on: { click: act } }, text);
}

// save offers a text as a file.
function save(name, type, text) {
  var url = URL.createObjectURL(new Blob([text], { type: type }));
  var a = make('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(function () { URL.revokeObjectURL(url); }, 10000);
}

function fileName(doc, id) {
  return (doc.host.name + '-' + id).replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 80) + '.csv';
}

// section is a part of the page with its heading.
function section(id, title) {
  var rest = Array.prototype.slice.call(arguments, 2);
  return make('section', { id: id, 'aria-labelledby': id + '-title' }, make('h2', { id: id + '-title', tabindex: '-1' }, title), rest);
}

// table is one with heads and rows of texts; align says which columns stand right.
function table(caption, heads, rows, right) {
  var cells = function (row) {
    return make('tr', {}, row.map(function (text, i) {
      return make(i ? 'td' : 'th', { scope: i ? null : 'row', class: right && i >= right ? 'number' : null }, text);
    }));
  };
  return make('div', { class: 'scroll' }, make('table', { class: 'list' }, make('caption', { class: caption[0] === '.' ? 'hidden' : null }, caption.replace(/^\./, '')),
    make('thead', {}, make('tr', {}, heads.map(function (h, i) { return make('th', { scope: 'col', class: right && i >= right ? 'number' : null }, h); }))),
    make('tbody', {}, rows.map(cells))));
}

// keys move the cursor and zoom, wherever the focus is in a plot.
function keys(view, e) {
  if (e.ctrlKey || e.metaKey || e.altKey) { return; }
  var step = view.doc.step * (e.shiftKey ? 10 : 1), at = view.at(), length = view.to - view.from;
  var from = at === null ? view.from + length / 2 : at;
  var move = function (to) { view.hover = null; view.pin(to); };
  switch (e.key) {
    case 'ArrowLeft': move(from - step); break;
    case 'ArrowRight': move(from + step); break;
    case 'PageUp': move(from - length / 10); break;
    case 'PageDown': move(from + length / 10); break;
    case 'Home': move(view.from); break;
    case 'End': move(view.to); break;
    case 'n': case 'p': move(neighbour(view, from, e.key === 'n')); break;
    case '+': case '=': view.zoom(from - length / 4, from + length / 4); break;
    case '-': view.zoom(from - length, from + length); break;
    case '0': view.whole(); break;
    case 'Escape': if (view.zooms.length) { view.back(); } else { view.hover = null; view.pin(null); } break;
    default: return;
  }
  e.preventDefault();
}

// neighbour is the next event or break, or the one before.
function neighbour(view, from, forward) {
  var all = (view.doc.breaks || []).concat(view.doc.events || []).map(function (m) { return m.from; });
  all.sort(function (a, b) { return a - b; });
  var found = forward ? all.find(function (at) { return at > from; }) : all.reverse().find(function (at) { return at < from; });
  return found === undefined ? from : found;
}

// themes are what the switch goes through; the first is what the browser prefers.
var themes = ['auto', 'dark', 'light'];

function setTheme(view, name) {
  if (name === 'auto') { delete document.documentElement.dataset.theme; } else { document.documentElement.dataset.theme = name; }
  view.repaint();
}

// bar is what stays in sight: where the cursor is, and the buttons.
function bar(view) {
  var where = make('output', { class: 'where', 'aria-live': 'polite' });
  var theme = 0;
  var back = button('Back', 'Back to the zoom before (Escape)', function () { view.back(); });
  var whole = button('All', 'The whole window (0)', function () { view.whole(); });
  var middle = function () { return view.at() === null ? (view.from + view.to) / 2 : view.at(); };
  var tone = button('Theme: auto', 'Switch between light and dark', function () {
    theme = (theme + 1) % themes.length;
    tone.textContent = 'Theme: ' + themes[theme];
    setTheme(view, themes[theme]);
  });
  view.listeners.push(function () {
    var at = view.at(), zoomed = view.from > view.doc.from || view.to < view.doc.to;
    back.disabled = !view.zooms.length;
    whole.disabled = !zoomed;
    var text = at === null ? 'No cursor: values are of the whole window' : [view.clock.full(view.end(at)) + view.spoken(), view.nearby()].filter(Boolean).join(' · ');
    if (where.textContent !== text) { where.textContent = where.title = text; }
  });
  return make('div', { class: 'bar', role: 'toolbar', 'aria-label': 'Cursor and zoom' }, where, make('span', { class: 'buttons' },
    button('+', 'Zoom in (+)', function () { var l = view.to - view.from; view.zoom(middle() - l / 4, middle() + l / 4); }),
    button('−', 'Zoom out (-)', function () { var l = view.to - view.from; view.zoom(middle() - l, middle() + l); }),
    back, whole, tone));
}

function build(doc) {
  var clock = new Clock(doc.zone), view = new View(doc, clock), root = document.getElementById('page');
  var figures = [], groups = [], last = null;
  (doc.plots || []).forEach(function (plot) {
    if (!last || last.name !== plot.group) {
      last = { name: plot.group, figures: [] };
      groups.push(last);
    }
    var f = figure(view, plot);
    last.figures.push(f.el);
    figures.push(f);
  });
  var main = make('main', {}, make('div', { class: 'first' }, renewed(view, function (d) { return [d.summary, d.against]; }, summary), renewed(view, function (d) { return d.gauges; }, vitals)),
    groups.map(function (g, i) { return section('group-' + i, g.name, i ? null : hint(), g.figures); }),
    renewed(view, function (d) { return d.flame; }, flame), processes(view), renewed(view, function (d) { return [d.events, d.breaks, d.everyday]; }, events),
    renewed(view, function (d) { return d.tops; }, tops), renewed(view, function (d) { return d.ports; }, ports), renewed(view, function (d) { return d.absent; }, absent));
  document.title = doc.title;
  root.replaceChildren(header(view), bar(view), main, footer(doc));
  figures.forEach(function (f) { f.start(); });
  view.tell();
  root.setAttribute('aria-busy', 'false');
  follow(view);
  window.tachograph = { write: write, view: view }; // for whoever looks with the browser's console
  performance.mark('tachograph');
  document.documentElement.dataset.ready = 'yes';
  return view;
}

// follow keeps up with the window, the preferred colours and the printer; of the page
// that is shown last.
function follow(view) {
  var width = window.innerWidth, before = null;
  window.onresize = function () {
    if (window.innerWidth === width) { return; }
    width = window.innerWidth;
    view.resize();
  };
  preferred.onchange = function () { view.repaint(); };
  window.onbeforeprint = function () {
    before = document.documentElement.dataset.theme || 'auto';
    document.documentElement.classList.add('printing');
    setTheme(view, 'light');
    view.resize();
  };
  window.onafterprint = function () {
    document.documentElement.classList.remove('printing');
    setTheme(view, before || 'auto');
    view.resize();
  };
}

var preferred = window.matchMedia('(prefers-color-scheme: dark)');

function main() {
  return load().then(unpack).then(build).catch(function (e) {
    var root = document.getElementById('page');
    root.replaceChildren(make('p', { role: 'alert' }, String(e && e.message || e)));
    root.setAttribute('aria-busy', 'false');
  });
}
