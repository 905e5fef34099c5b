// The plots: one above the other, with one time axis, one cursor and one zoom.

// View is what all plots have in common.
function View(doc, clock) {
  this.doc = doc;
  this.clock = clock;
  this.from = doc.from;
  this.to = doc.to;
  this.pinned = doc.cursor || null; // where the cursor stays
  this.hover = null; // where the mouse is
  this.zooms = [];
  this.plots = [];
  this.listeners = [];
  this.adopters = []; // what is told when there is other data
  this.times = middles(doc);
}

// middles are where columns are drawn: their values are of the time up to their ends.
function middles(doc) {
  var times = new Float64Array(doc.columns);
  for (var i = 0; i < doc.columns; i++) { times[i] = doc.first + (i + 0.5) * doc.step; }
  return times;
}

// adopt goes on with other data of the same host. Who looks at a part of it stays there,
// as long as it is there.
View.prototype.adopt = function (doc) {
  var whole = this.from <= this.doc.from && this.to >= this.doc.to, from = this.from, to = this.to;
  this.doc = doc;
  this.times = middles(doc);
  if (whole) { from = doc.from; to = doc.to; }
  if (this.pinned !== null && this.pinned < doc.from) { this.pinned = null; }
  this.adopters.forEach(function (f) { f(doc); });
  this.show(from, to);
};

// leave lets go of everything.
View.prototype.leave = function () {
  this.plots.forEach(function (c) { c.u.destroy(); });
  this.plots = [];
  this.listeners = [];
  this.adopters = [];
};

// at is where the cursor is, null if nowhere.
View.prototype.at = function () { return this.hover !== null ? this.hover : this.pinned; };

// column is the one of an instant, -1 if none.
View.prototype.column = function (ms) {
  if (ms === null) { return -1; }
  var k = Math.ceil((ms - this.doc.first) / this.doc.step) - 1;
  return k >= 0 && k < this.doc.columns ? k : -1;
};

// end is the end of the column of an instant: until then values are of that column, as
// they are of a step of replay rates.
View.prototype.end = function (ms) {
  var k = this.column(ms);
  return k < 0 ? ms : Math.min(this.doc.first + (k + 1) * this.doc.step, this.doc.to);
};

View.prototype.tell = function () {
  var view = this;
  if (this.waiting) { return; }
  this.waiting = true;
  requestAnimationFrame(function () {
    view.waiting = false;
    view.listeners.forEach(function (f) { f(); });
  });
};

View.prototype.point = function (ms) { this.hover = ms; this.tell(); };

View.prototype.pin = function (ms) {
  this.pinned = ms === null ? null : Math.min(Math.max(ms, this.doc.from), this.doc.to);
  if (this.pinned !== null && (this.pinned < this.from || this.pinned > this.to)) {
    var half = (this.to - this.from) / 2;
    this.show(this.pinned - half, this.pinned + half);
  }
  this.tell();
};

// show zooms to a span without remembering the one before.
View.prototype.show = function (from, to) {
  var least = Math.max(this.doc.step * 4, 1000), length = Math.min(Math.max(to - from, least), this.doc.to - this.doc.from);
  from = Math.min(Math.max((from + to - length) / 2, this.doc.from), this.doc.to - length);
  this.from = from;
  this.to = from + length;
  var view = this;
  this.plots.forEach(function (p) { p.rescale(view); });
  this.tell();
};

View.prototype.zoom = function (from, to) {
  this.zooms.push([this.from, this.to]);
  this.show(from, to);
};

View.prototype.back = function () {
  var last = this.zooms.pop() || [this.doc.from, this.doc.to];
  this.show(last[0], last[1]);
};

View.prototype.whole = function () {
  this.zooms = [];
  this.show(this.doc.from, this.doc.to);
};

// repaint draws everything again, in the colours of the moment.
View.prototype.repaint = function () {
  this.plots.forEach(function (p) { p.u.redraw(false, true); });
};

View.prototype.resize = function () {
  this.plots.forEach(function (p) { p.u.setSize({ width: p.width(), height: p.height }); });
  this.tell();
};

// spoken are the values at the cursor of the plot that the keyboard is in.
View.prototype.spoken = function () {
  var speaker = this.speaker, chart = this.plots.find(function (p) { return p.plot.id === speaker; }), k = this.column(this.at());
  if (!chart || k < 0 || this.hover !== null) { return ''; }
  return ': ' + chart.lines.filter(function (l) { return l.shown; }).slice(0, 8).map(function (l) {
    return (l.name || chart.plot.title) + ' ' + write(chart.plot.form, l.mean[k]);
  }).join(', ');
};

// nearby says what happened where the cursor is: the break that it lies in, or the
// event that it stands on.
View.prototype.nearby = function () {
  var at = this.at(), reach = (this.to - this.from) / 250, best = null;
  if (at === null) { return ''; }
  var inside = (this.doc.breaks || []).find(function (b) { return b.from <= at && b.to >= at; });
  if (inside) { return inside.kind + ': ' + inside.text; }
  (this.doc.events || []).forEach(function (e) {
    var far = Math.abs(e.from - at);
    if (e.drawn && far <= reach && (!best || far < Math.abs(best.from - at))) { best = e; }
  });
  return best ? best.kind + ': ' + best.text : '';
};

// colour is one of the style sheet's, as it is at the moment.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function fade(hex, share) {
  return hex + pad2(Math.round(share * 255));
}

function pad2(n) { return n.toString(16).padStart(2, '0'); }

var hues = 10;

// hue is the colour of a line; what is nobody's is grey.
function hue(line) { return colour(line.rest ? 'rest' : 'series' + line.index % hues); }

// Chart is one plot in its figure.
function Chart(view, plot, holder, height) {
  this.view = view;
  this.plot = plot;
  this.holder = holder;
  this.height = height;
  this.lines = linesOf(view, plot, []);
  this.draw();
  view.plots.push(this);
}

// linesOf are the series of a plot, shown or not as the ones before them.
function linesOf(view, plot, before) {
  return plot.series.map(function (s, i) {
    return {
      name: s.name, index: i, rest: s.rest, average: s.average, most: s.most, shown: !before[i] || before[i].shown,
      mean: view.doc.numbers(s.mean),
      low: s.low ? view.doc.numbers(s.low) : null,
      high: s.high ? view.doc.numbers(s.high) : null
    };
  });
}

// adopt goes on with other data.
Chart.prototype.adopt = function (plot) {
  this.plot = plot;
  this.lines = linesOf(this.view, plot, this.lines);
  var made = this.content();
  if (made.series.length === this.u.series.length) { this.u.setData(made.data, false); } else { this.draw(); }
};

// stack sums the lines up, the last on top.
Chart.prototype.stack = function () {
  var n = this.view.times.length, sum = new Array(n).fill(null), out = [];
  this.lines.forEach(function (line) {
    if (!line.shown) { return; }
    sum = sum.slice();
    for (var i = 0; i < n; i++) {
      if (line.mean[i] !== null) { sum[i] = (sum[i] || 0) + line.mean[i]; }
    }
    out.push({ line: line, sum: sum });
  });
  return out.reverse(); // The highest is drawn first, the others over it.
};

// alone marks values that have no neighbour, of which no line can be drawn.
var alone = {
  show: true, size: 4,
  filter: function (u, i) {
    var list = [], values = u.data[i], empty = function (k) { return values[k] === null || values[k] === undefined; };
    for (var k = 0; k < values.length; k++) {
      if (!empty(k) && empty(k - 1) && empty(k + 1)) { list.push(k); }
    }
    return list;
  }
};

// content is what uPlot draws: data and series that belong together.
Chart.prototype.content = function () {
  var data = [this.view.times], series = [{}], bands = [], chart = this;
  if (this.plot.heat) {
    data.push(new Array(this.view.times.length).fill(null));
    series.push({});
  } else if (this.plot.stacked) {
    this.stack().forEach(function (s) {
      data.push(s.sum);
      series.push({
        fill: function () { return hue(s.line); }, stroke: function () { return hue(s.line); },
        width: 0.5, points: alone, spanGaps: false
      });
    });
  } else {
    this.lines.forEach(function (line) {
      if (!line.shown) { return; }
      var stroke = function () { return hue(line); };
      if (line.high) {
        var edge = { width: 0, points: { show: false }, spanGaps: false, stroke: 'transparent' };
        data.push(line.high, line.low);
        series.push(edge, Object.assign({}, edge));
        bands.push({ series: [series.length - 2, series.length - 1], fill: function () { return fade(hue(line), 0.22); } });
      }
      data.push(line.mean);
      series.push({ stroke: stroke, width: 1.25, points: alone, spanGaps: false });
    });
    if (data.length === 1) { data.push(new Array(this.view.times.length).fill(null)); series.push({}); }
  }
  return { data: data, series: series, bands: bands, chart: chart };
};

// top is where the values of a plot end: a round number over the highest that is
// shown, or what is full.
Chart.prototype.top = function () {
  var full = this.plot.full || 0, most = 0, view = this.view, stacked = this.plot.stacked;
  var first = Math.max(view.column(view.from), 0), last = view.column(view.to);
  if (last < 0) { last = view.times.length - 1; }
  for (var i = first; i <= last; i++) {
    var sum = 0;
    for (var k = 0; k < this.lines.length; k++) {
      var line = this.lines[k];
      if (!line.shown || line.mean[i] === null) { continue; }
      if (stacked) { sum += line.mean[i]; } else { sum = Math.max(sum, line.high ? line.high[i] : line.mean[i]); }
    }
    most = Math.max(most, sum);
  }
  if (full && most <= full * 1.1) { return full; }
  var round = roundUp(most, this.plot.form.kind);
  return this.plot.form.kind === 'percent' && !stacked && most <= 1.1 ? Math.min(round, 1) : round;
};

// roundUp is the next number that people call round, in steps of 1024 for bytes.
function roundUp(x, kind) {
  if (!(x > 0)) { return 1; }
  var base = 1;
  if (kind === 'bytes') { while (x / base >= 1024) { base *= 1024; } } else { base = 1; }
  var scaled = x / base, power = Math.pow(10, Math.floor(Math.log10(scaled)));
  var step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find(function (m) { return m * power >= scaled * 0.999999; });
  return step * power * base;
}

Chart.prototype.axes = function () {
  var chart = this, view = this.view;
  var text = function () { return colour('faint'); }, font = '11px system-ui, sans-serif';
  var ticks = null;
  return [{
    stroke: text, font: font, size: 24, gap: 4,
    grid: { stroke: function () { return colour('grid'); }, width: 1 }, ticks: { show: false },
    splits: function (u, axis, from, to) {
      ticks = view.clock.ticks(from, to, Math.max(Math.floor(u.bbox.width / devicePixelRatio / 60), 2));
      return ticks.at;
    },
    values: function () { return view.clock.labels(ticks); }
  }, {
    stroke: text, font: font, size: 62, gap: 6,
    grid: { stroke: function () { return colour('grid'); }, width: 1 }, ticks: { show: false },
    splits: function (u, axis, from, to) {
      return chart.plot.heat ? [] : [0, to / 2, to];
    },
    values: function (u, list) { return list.map(function (x) { return write(chart.plot.form, x); }); }
  }];
};

Chart.prototype.width = function () { return Math.max(this.holder.clientWidth, 200); };

Chart.prototype.draw = function () {
  var chart = this, view = this.view, made = this.content();
  if (this.u) { this.u.destroy(); }
  var options = {
    width: this.width(), height: this.height,
    legend: { show: false },
    scales: {
      x: { time: false, range: function () { return [view.from, view.to]; } },
      y: { range: function () { return [0, chart.plot.heat ? 1 : chart.top()]; } }
    },
    axes: this.axes(), series: made.series, bands: made.bands,
    cursor: {
      points: { show: false }, y: false,
      drag: { x: true, y: false, setScale: false, dist: 4 },
      bind: { dblclick: function () { return function () { view.whole(); return null; }; } }
    },
    hooks: {
      drawClear: [function (u) { chart.behind(u); }],
      draw: [function (u) { chart.over(u); }],
      setSelect: [function (u) {
        var s = u.select;
        if (s.width < 4) { return; }
        var from = u.posToVal(s.left, 'x'), to = u.posToVal(s.left + s.width, 'x');
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        view.zoom(from, to);
      }]
    }
  };
  this.u = new uPlot(options, made.data, this.holder);
  this.u.over.addEventListener('mousemove', function (e) { view.point(chart.u.posToVal(e.offsetX, 'x')); });
  this.u.over.addEventListener('mouseleave', function () { view.point(null); });
  this.u.over.addEventListener('click', function (e) {
    if (!chart.u.select.width) { view.pin(chart.u.posToVal(e.offsetX, 'x')); }
  });
};

Chart.prototype.rescale = function (view) {
  this.u.setScale('x', { min: view.from, max: view.to });
};

// follow puts the cursor where the view's is.
Chart.prototype.follow = function () {
  var at = this.view.at();
  var left = at === null || at < this.view.from || at > this.view.to ? -10 : this.u.valToPos(at, 'x');
  this.u.setCursor({ left: left, top: left < 0 ? -10 : 1 }, true);
};

// behind draws what lies behind the values: times in which nothing was recorded.
Chart.prototype.behind = function (u) {
  var ctx = u.ctx, b = u.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(b.left, b.top, b.width, b.height);
  ctx.clip();
  (this.view.doc.breaks || []).forEach(function (brk) {
    var from = u.valToPos(brk.from, 'x', true), to = u.valToPos(brk.to, 'x', true);
    ctx.fillStyle = colour('break');
    ctx.fillRect(from, b.top, Math.max(to - from, 2 * devicePixelRatio), b.height);
  });
  ctx.restore();
  if (this.plot.heat) { this.shades(u); }
};

// shades draws a row for each line, the darker the more.
Chart.prototype.shades = function (u) {
  var ctx = u.ctx, b = u.bbox, view = this.view, n = this.lines.length, height = b.height / n;
  var base = colour('series0'), full = this.plot.full || 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(b.left, b.top, b.width, b.height);
  ctx.clip();
  var first = Math.max(view.column(view.from), 0), last = view.column(view.to);
  if (last < 0) { last = view.times.length - 1; }
  for (var k = 0; k < n; k++) {
    var line = this.lines[k], top = b.top + Math.round(k * height), end = b.top + Math.round((k + 1) * height);
    var gap = end - top > 6 ? 1 : 0;
    for (var i = first; i <= last; i++) {
      if (line.mean[i] === null) { continue; }
      var left = Math.floor(u.valToPos(view.times[i] - view.doc.step / 2, 'x', true));
      var right = Math.floor(u.valToPos(view.times[i] + view.doc.step / 2, 'x', true));
      ctx.fillStyle = fade(base, 0.06 + 0.94 * Math.min(line.mean[i] / full, 1));
      ctx.fillRect(left, top, Math.max(right - left, 1), end - top - gap);
    }
  }
  ctx.restore();
};

// over draws events through the plot.
Chart.prototype.over = function (u) {
  var ctx = u.ctx, b = u.bbox, px = devicePixelRatio, view = this.view;
  ctx.save();
  (this.view.doc.events || []).forEach(function (e) {
    if (!e.drawn || e.from < view.from || e.from > view.to) { return; }
    var x = Math.round(u.valToPos(e.from, 'x', true));
    ctx.fillStyle = colour(e.grave ? 'grave' : 'mark');
    ctx.fillRect(x, b.top, px, b.height);
    ctx.fillRect(x - 2 * px, b.top - 3 * px, 5 * px, 3 * px);
  });
  ctx.restore();
};

// csvCell is a text as spreadsheets and programs read it: quoted where it must be.
function csvCell(s) { return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s; }

// toggle shows a line, or hides it.
Chart.prototype.toggle = function (i) {
  this.lines[i].shown = !this.lines[i].shown;
  this.draw();
  this.follow();
};

// csv is the plot's data as text, times first.
Chart.prototype.csv = function () {
  var view = this.view, lines = this.lines, title = this.plot.title;
  var head = ['time'];
  lines.forEach(function (l) {
    var name = l.name || title;
    head.push(csvCell(name));
    if (l.high) { head.push(csvCell(name + ' min'), csvCell(name + ' max')); }
  });
  var rows = [head.join(',')];
  for (var i = 0; i < view.times.length; i++) {
    var row = [view.clock.iso(view.doc.first + (i + 1) * view.doc.step)], any = false;
    lines.forEach(function (l) {
      var put = function (x) { any = any || x !== null; row.push(x === null ? '' : String(exact(x))); };
      put(l.mean[i]);
      if (l.high) { put(l.low[i]); put(l.high[i]); }
    });
    if (any) { rows.push(row.join(',')); }
  }
  return rows.join('\r\n') + '\r\n';
};
