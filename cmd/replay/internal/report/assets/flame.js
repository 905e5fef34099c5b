// The stacks of the window: a box for each call, as wide as its share of the samples, below
// what called it.

// flameTree takes a preorder apart: nodes with their children.
function flameTree(f) {
  var root = { name: 'all samples', count: 0, running: 0, waited: 0, children: [], parent: null, depth: -1 }, at = root;
  f.depth.forEach(function (depth, i) {
    while (at.depth >= depth) { at = at.parent; }
    var n = { name: f.names[f.name[i]], count: f.count[i], running: f.running[i], waited: f.waited ? f.waited[i] : 0, children: [], parent: at, depth: depth };
    at.children.push(n);
    at = n;
  });
  root.children.forEach(function (n) { root.count += n.count; root.running += n.running; root.waited += n.waited; });
  return root;
}

function flame(view) {
  var f = view.doc.flame;
  if (!f) { return null; }
  var root = flameTree(f), zoomed = root, current = root, boxes = new Map();
  var said = make('output', { class: 'where', 'aria-live': 'polite' });
  var stage = make('div', { class: 'flame', role: 'tree', 'aria-label': 'Calls by their share of the samples' });
  var share = function (n, of) { return write({ kind: 'percent' }, of.count ? n.count / of.count : 0); };
  var words = function (n) {
    return n.name + ': ' + humanCount(n.count) + ' samples, ' + share(n, root) + ' of all' + (zoomed === root || n === zoomed ? '' : ', ' + share(n, zoomed) + ' of what is shown') +
      ', ' + write({ kind: 'percent' }, n.count ? n.running / n.count : 0) + ' of them running' +
      (n.waited ? '; ' + write({ kind: 'seconds' }, n.waited) + ' waited' : '');
  };
  var say = function (n) { said.textContent = said.title = words(n); };
  // focus makes a box the one that the keyboard is at.
  var focus = function (n, really) {
    var old = boxes.get(current);
    if (old) { old.tabIndex = -1; }
    current = n;
    var box = boxes.get(n);
    if (!box) { return; }
    box.tabIndex = 0;
    if (really) { box.focus(); }
    say(n);
  };
  var box = function (n, left, width, row) {
    var el = make('div', {
      class: 'call ' + (n.running * 2 >= n.count ? 'ran' : 'waited'), role: 'treeitem', tabindex: '-1', 'aria-level': n.depth + 2,
      'aria-label': words(n), title: words(n), 'aria-expanded': n.children.length ? 'true' : null, on: {
        click: function () { zoom(n === zoomed && n.parent ? n.parent : n, n); },
        mouseenter: function () { say(n); },
        focus: function () { if (current !== n) { focus(n, false); } }
      }
    }, n.name);
    el.style.left = left * 100 + '%';
    el.style.width = width * 100 + '%';
    el.style.top = row * 19 + 'px';
    boxes.set(n, el);
    stage.append(el);
  };
  // zoom draws a node as wide as there is room, below those that it was called by.
  var zoom = function (n, at) {
    var had = stage.contains(document.activeElement), row = 0, deepest = 0, above = [];
    zoomed = n;
    boxes.clear();
    stage.replaceChildren();
    for (var p = n.parent; p; p = p.parent) { above.unshift(p); }
    above.forEach(function (p) { box(p, 0, 1, row++); });
    var draw = function (m, left, width, row) {
      if (width < 0.0008) { return; }
      deepest = Math.max(deepest, row);
      box(m, left, width, row);
      m.children.forEach(function (c) {
        var w = m.count ? width * c.count / m.count : 0;
        draw(c, left, w, row + 1);
        left += w;
      });
    };
    draw(n, 0, 1, row);
    stage.style.height = (deepest + 1) * 19 + 'px';
    focus(boxes.has(at) ? at : n, had);
  };
  // beside is a node's neighbour of the same depth that is drawn.
  var beside = function (n, by) {
    var all = n.parent ? n.parent.children : [n], next = all[all.indexOf(n) + by];
    return next && boxes.has(next) ? next : n;
  };
  stage.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) { return; }
    var child = current.children.find(function (c) { return boxes.has(c); });
    switch (e.key) {
      case 'ArrowUp': focus(current.parent || current, true); break;
      case 'ArrowDown': focus(child || current, true); break;
      case 'ArrowLeft': focus(beside(current, -1), true); break;
      case 'ArrowRight': focus(beside(current, 1), true); break;
      case 'Home': focus(zoomed, true); break;
      case 'Enter': case ' ': zoom(current, current); break;
      case 'Escape': zoom(root, current); break;
      default: return;
    }
    e.preventDefault();
    e.stopPropagation();
  });
  zoom(root, root);
  return section('stacks', 'What threads were doing', make('p', { class: 'note' }, f.about),
    make('p', { class: 'note' }, 'Each box is a call, as wide as its share of the samples, below what called it; ',
      make('span', { class: 'ran key' }, 'running'), ' and ', make('span', { class: 'waited key' }, 'waiting'),
      ' say what most of its threads did. Click a box, or press Enter, to see it as wide as the page; Escape shows everything. Arrows go to the caller, to what was called and to the neighbours.'),
    make('div', { class: 'beside' }, said, button('All', 'Show all stacks (Escape)', function () { zoom(root, root); })), stage,
    f.hidden ? make('p', { class: 'note' }, f.hidden) : null, f.command ? make('code', {}, f.command) : null);
}
