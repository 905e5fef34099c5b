// The bar over a page that is served: what it shows, and how it stands.

// bar makes it.
Live.prototype.bar = function () {
  var l = this;
  var option = function (p) { return make('option', { value: p[0] }, 'last ' + p[1]); };
  this.label = make('span', { class: 'state' });
  this.message = make('div', { class: 'trouble', role: 'status' });
  this.pause = make('button', { type: 'button', 'aria-pressed': 'false', on: { click: function () { l.toggle(); } } }, 'Pause');
  this.last = make('select', { 'aria-label': 'How much is shown', on: { change: function () {
    if (l.last.value) { l.go({ last: l.last.value === '1h' ? '' : l.last.value, from: '', to: '', at: '' }); }
  } } }, lengths.map(option), make('option', { value: '', disabled: '', hidden: '' }, 'as chosen'));
  this.host = make('select', { 'aria-label': 'Host', hidden: '', on: { change: function () { l.go({ host: l.host.value }); } } });
  this.from = make('input', { 'aria-label': 'from', placeholder: 'from: 03:12, -2h', autocomplete: 'off', spellcheck: 'false' });
  this.to = make('input', { 'aria-label': 'to', placeholder: 'to: now, 03:30', autocomplete: 'off', spellcheck: 'false' });
  var past = make('form', { on: { submit: function (e) {
    e.preventDefault();
    l.go({ from: l.from.value.trim(), to: l.to.value.trim(), at: '', last: '' });
  } } }, this.from, this.to, make('button', {}, 'Show'));
  this.element = make('div', { id: 'live', role: 'region', 'aria-label': 'What is shown' },
    make('div', {}, this.label, this.host, this.last, past, this.pause, this.message));
  return this.element;
};

// fill puts what is wanted into the bar.
Live.prototype.fill = function () {
  var w = this.wanted(), past = this.isPast();
  this.from.value = w.at ? 'around ' + w.at : w.from || '';
  this.to.value = w.to || '';
  this.last.value = past ? '' : lengths.some(function (p) { return p[0] === w.last; }) ? w.last : '1h';
};

// names offers the hosts that there are.
Live.prototype.names = function (doc) {
  var hosts = doc.hosts || [];
  this.host.hidden = hosts.length < 2;
  this.host.replaceChildren.apply(this.host, hosts.map(function (h) { return make('option', { value: h.id }, h.name); }));
  this.host.value = doc.host.id;
};

// toggle stops and goes on; out of the past it goes back to what is recorded now.
Live.prototype.toggle = function () {
  if (this.isPast()) {
    this.paused = false;
    this.go({ from: '', to: '', at: '' });
    return;
  }
  this.paused = !this.paused;
  this.tell();
  this.soon(0);
};

// tell says how the page stands.
Live.prototype.tell = function () {
  var past = this.isPast(), doc = this.view.doc;
  var time = this.view.clock.second(doc.to);
  this.element.className = past || this.paused || this.isLate() ? '' : 'running';
  this.pause.textContent = past ? 'Live' : this.paused ? 'Go on' : 'Pause';
  this.pause.setAttribute('aria-pressed', String(!past && this.paused));
  if (past) { this.state('what was recorded'); return; }
  if (this.paused) { this.state('paused at ' + time); return; }
  this.state(this.isLate() ? 'nothing recorded since ' + this.view.clock.full(doc.to) : 'live, ' + time);
};

Live.prototype.state = function (text) { this.label.textContent = text; };
Live.prototype.trouble = function (text) {
  if (this.message.textContent !== text) { this.message.textContent = text; }
};

// askToken asks for the token of the server. It is kept for as long as the tab is.
Live.prototype.askToken = function (wrong, again) {
  var l = this, field = make('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false' });
  var form = make('form', { class: 'token', on: { submit: function (e) {
    e.preventDefault();
    if (!field.value.trim()) { return; }
    sessionStorage.setItem(tokenKey, field.value.trim());
    l.view = null;
    l.load();
  } } },
  make('p', {}, wrong ? 'This is not the token of this server.' : 'This server wants a token: it is in the file that replay serve --token-file names.'),
  make('label', { for: 'token' }, 'Token '), field, make('button', {}, 'Show'));
  if (this.view) { this.view.leave(); }
  this.view = null;
  document.getElementById('page').replaceChildren(form);
  document.getElementById('page').setAttribute('aria-busy', 'false');
  field.focus();
};
