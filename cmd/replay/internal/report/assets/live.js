// The page as it is served: it fetches its data, and goes on with what is recorded.

var lengths = [['5m', '5 minutes'], ['15m', '15 minutes'], ['1h', 'hour'], ['6h', '6 hours'], ['24h', '24 hours']];
var patience = 70000; // milliseconds that an answer may take
var tokenKey = 'tachograph-token';

// live begins.
function live() {
  var l = new Live();
  l.takeToken();
  document.body.prepend(l.bar());
  document.addEventListener('visibilitychange', function () { l.soon(0); });
  window.addEventListener('online', function () { l.soon(0); });
  window.addEventListener('popstate', function () { l.load(); });
  window.addEventListener('hashchange', function () { l.takeToken(); l.load(); });
  l.load();
}

function Live() {
  this.view = null;
  this.paused = false;
  this.failures = 0;
  this.busy = false;
  this.lost = null; // since when there is no answer
  this.loads = 0; // how often a window was begun to be loaded
}

// takeToken takes a token from behind the # of the address, where nobody is sent it,
// and leaves none there.
Live.prototype.takeToken = function () {
  var found = /^#token=([A-Za-z0-9._~+\/=-]+)$/.exec(location.hash);
  if (!found) { return; }
  sessionStorage.setItem(tokenKey, found[1]);
  history.replaceState(null, '', location.pathname + location.search);
};

// wanted is what the address says is to be shown.
Live.prototype.wanted = function () {
  var given = new URLSearchParams(location.search), out = {};
  ['host', 'from', 'to', 'at', 'last'].forEach(function (k) { if (given.get(k)) { out[k] = given.get(k); } });
  return out;
};

// isPast says that the window does not move.
Live.prototype.isPast = function () {
  var w = this.wanted();
  return Boolean(w.from || w.to || w.at);
};

// go shows another window.
Live.prototype.go = function (changes) {
  var next = Object.assign(this.wanted(), changes), text = new URLSearchParams();
  Object.keys(next).forEach(function (k) { if (next[k]) { text.set(k, next[k]); } });
  text = text.toString();
  if ('?' + text !== (location.search || '?')) { history.pushState(null, '', location.pathname + (text ? '?' + text : '')); }
  this.load();
};

// ask fetches data; null where there is nothing new.
Live.prototype.ask = function (parameters) {
  var headers = {}, token = sessionStorage.getItem(tokenKey);
  if (token) { headers.Authorization = 'Bearer ' + token; }
  return fetch('v1/page?' + new URLSearchParams(parameters), {
    headers: headers, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal: AbortSignal.timeout(patience)
  }).then(function (answer) {
    if (answer.status === 204) { return null; }
    if (answer.ok) { return answer.arrayBuffer().then(function (b) { return unpack(new Uint8Array(b)); }); }
    return answer.text().then(function (text) {
      var e = new Error(text.trim() || 'The server answers ' + answer.status + '.');
      e.status = answer.status;
      throw e;
    });
  }, function () { throw new Error('No answer from replay serve'); });
};

// load fetches the window that the address says.
Live.prototype.load = function () {
  var l = this, number = ++this.loads;
  clearTimeout(this.timer);
  this.fill();
  this.state('Reading what was recorded …');
  document.getElementById('page').setAttribute('aria-busy', 'true');
  return this.ask(this.wanted()).then(function (doc) {
    if (number !== l.loads) { return; }
    l.answered();
    if (l.view) { l.view.leave(); }
    l.view = build(doc);
    l.begin(doc);
  }).catch(function (e) { if (number === l.loads) { l.failed(e, function () { l.load(); }); } });
};

// begin notes what a window that was loaded whole is like.
Live.prototype.begin = function (doc) {
  this.span = this.length();
  this.whole = performance.now();
  this.names(doc);
  document.title = doc.title;
  this.tell();
  this.soon(0); // It may have been read for somebody else, a while ago.
};

// length of the window that moves, in milliseconds.
Live.prototype.length = function () {
  var found = /^(\d+)([mh])$/.exec(this.wanted().last || '1h');
  return found ? found[1] * (found[2] === 'h' ? 3600000 : 60000) : 3600000;
};

// every is how long to wait for what comes next: longer where nothing has come for a
// while.
Live.prototype.every = function () {
  return this.isLate() ? 30000 : Math.min(Math.max(this.view.doc.step, 5000), 30000);
};

Live.prototype.isLate = function () {
  return Date.now() - this.view.doc.to > Math.max(60000, 3 * this.view.doc.step);
};

// soon looks for what has come since after a while, or tries again what failed; a page
// that nobody sees does nothing.
Live.prototype.soon = function (wait) {
  var l = this, next = this.again;
  clearTimeout(this.timer);
  if (document.visibilityState === 'hidden') { return; }
  if (!next && this.view && !this.paused && !this.isPast()) { next = function () { l.more(); }; }
  if (next) { this.timer = setTimeout(next, wait); }
};

// more fetches what has come since, and now and then the whole window: what it says in
// words is of all of it.
Live.prototype.more = function () {
  if (this.busy) { return; }
  var l = this, number = this.loads, doc = this.view.doc;
  var anew = performance.now() - this.whole > Math.max(this.span / 12, 60000);
  var asked = anew ? this.wanted() : { host: doc.host.id, since: Math.floor(doc.to) + '000000', step: Math.round(doc.step) + '000000' };
  this.busy = true;
  this.ask(asked).then(function (got) {
    l.busy = false;
    if (number !== l.loads) { return; }
    l.answered();
    if (got && !l.paused) {
      if (anew) { l.whole = performance.now(); }
      l.view.adopt(anew ? got : merge(l.view.doc, got, l.span));
    }
    l.tell();
    l.soon(l.every());
  }).catch(function (e) {
    l.busy = false;
    if (number !== l.loads) { return; }
    if (e.status === 410) { l.load(); return; } // It was away for too long.
    l.failed(e, function () { l.more(); });
  });
};

Live.prototype.answered = function () {
  this.failures = 0;
  this.lost = this.again = null;
  this.trouble('');
};

// failed says what is wrong, and has it tried again.
Live.prototype.failed = function (e, again) {
  var now = new Date().toTimeString().slice(0, 8);
  this.lost = this.lost || now;
  if (e.status === 401) {
    this.state('not shown');
    this.trouble('');
    this.askToken(sessionStorage.getItem(tokenKey) !== null, again);
    return;
  }
  if (e.status === 400 || e.status === 403 || e.status === 500 || e.status === 504) {
    this.state('not shown');
    this.trouble(e.message);
    if (!this.view) { document.getElementById('page').replaceChildren(); }
    return;
  }
  this.trouble(e.message + (e.status ? '' : ' since ' + this.lost) + '; trying again.');
  this.element.className = '';
  this.again = function () { this.again = null; again(); }.bind(this);
  this.soon(Math.min(1000 * Math.pow(2, this.failures++), 15000));
};
