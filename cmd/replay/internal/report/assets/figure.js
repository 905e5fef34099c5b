// figure is a plot with its values at the cursor beside it.
function figure(view, plot) {
  var holder = make('div', { class: 'chart' }), id = 'plot-' + plot.id, rows = [], chart;
  var list = make('tbody');
  var fill = function (plot) {
    rows = [];
    list.replaceChildren();
    plot.series.forEach(function (s, i) { row(s, i); });
  };
  var row = function (s, i) {
    var value = make('td', { class: 'value' }, s.average), most = make('td', { class: 'value most' }, s.most);
    var swatch = make('i', { class: plot.heat ? 'swatch heat' : s.rest ? 'swatch rest' : 'swatch s' + i % hues, 'aria-hidden': 'true' });
    var name = plot.heat ? make('span', {}, s.name) : make('button', { type: 'button', class: 'name', 'aria-pressed': 'true', title: 'Show or hide', on: { click: function () {
      chart.toggle(i);
      name.setAttribute('aria-pressed', String(chart.lines[i].shown));
    } } }, s.name || plot.title);
    list.append(make('tr', {}, make('th', { scope: 'row' }, make('div', {}, swatch, name)), value, most));
    rows.push({ value: value, most: most });
  };
  fill(plot);
  var head = make('th', { scope: 'col' }, 'mean');
  var legend = make('div', { class: 'legend', tabindex: plot.series.length > 9 ? '0' : null, role: 'group', 'aria-label': plot.title + ': values' }, make('table', { 'aria-label': plot.title + ': values' },
    make('thead', {}, make('tr', {}, make('td', {}), head, make('th', { scope: 'col' }, 'max'))), list),
    plot.more ? make('p', { class: 'note' }, 'and ' + plot.more + ' smaller ones') : null);
  var csv = make('button', { type: 'button', class: 'csv', 'aria-label': plot.title + ' as CSV', on: { click: function () {
    save(fileName(view.doc, plot.id), 'text/csv', chart.csv());
  } } }, 'CSV');
  var stage = make('div', { class: 'stage', tabindex: '0', role: 'application', 'aria-roledescription': 'plot', 'aria-label': plot.words, 'aria-keyshortcuts': 'ArrowLeft ArrowRight Home End + - Escape' }, holder);
  stage.addEventListener('keydown', function (e) { view.speaker = plot.id; keys(view, e); });
  var title = plot.title + (plot.fullText ? ', of ' + plot.fullText : '');
  return {
    el: make('figure', { class: 'plot', id: id, 'aria-labelledby': id + '-title' },
      make('figcaption', {}, make('h3', { id: id + '-title' }, title), make('span', { class: 'about' }, plot.about), csv),
      make('div', { class: 'body' }, stage, legend)),
    start: function () {
      var height = plot.heat ? Math.min(Math.max(plot.series.length * 10, 40), 320) + 32 : plot.stacked ? 190 : 140;
      chart = new Chart(view, plot, holder, height);
      view.adopters.push(function (doc) {
        var next = doc.plots.find(function (p) { return p.id === plot.id; });
        if (!next) { return; }
        var same = next.series.length === chart.lines.length && next.series.every(function (s, i) { return s.name === chart.lines[i].name; });
        chart.adopt(next);
        if (!same) { fill(next); }
        stage.setAttribute('aria-label', next.words);
      });
      view.listeners.push(function () {
        chart.follow();
        var k = view.column(view.at());
        head.textContent = k < 0 ? 'mean' : 'here';
        chart.lines.forEach(function (line, i) {
          rows[i].value.textContent = k < 0 ? line.average : write(plot.form, line.mean[k]);
          rows[i].most.textContent = k < 0 ? line.most : write(plot.form, (line.high || line.mean)[k]);
        });
      });
    }
  };
}
