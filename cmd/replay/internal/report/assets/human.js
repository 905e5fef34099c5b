// Numbers as package human of replay writes them: the same text for the same number.

// fixed is a number with so many digits behind the point. Where two are equally near
// the even one is taken, which is where toFixed differs.
function fixed(x, digits) {
  var scale = Math.pow(10, digits), scaled = Math.abs(x) * scale, below = Math.floor(scaled), text;
  if (scaled < 9e15 && scaled - below === 0.5 && scaled / scale === Math.abs(x) && below % 2 === 0) {
    text = (below / scale).toFixed(digits);
    return x < 0 ? '-' + text : text;
  }
  if (Math.abs(x) >= 1e21) {
    return BigInt(x).toString() + (digits ? '.' + '0'.repeat(digits) : '');
  }
  text = x.toFixed(digits);
  return Object.is(x, -0) ? '-' + text : text;
}

// general is a number in three figures, with an exponent where it is small or large.
function general(x) {
  if (x === 0) { return '0'; }
  var parts = x.toExponential(2).split('e'), exponent = Number(parts[1]);
  var mantissa = parts[0].indexOf('.') < 0 ? parts[0] : parts[0].replace(/\.?0+$/, '');
  var figures = mantissa.replace(/[-.]/g, '').length;
  if (exponent < -4 || exponent >= 3) {
    return mantissa + 'e' + (exponent < 0 ? '-' : '+') + String(Math.abs(exponent)).padStart(2, '0');
  }
  return fixed(x, Math.max(figures - exponent - 1, 0));
}

function figures(x) {
  var a = Math.abs(x), digits = 0;
  if (x !== x) { return 'NaN'; }
  if (a === Infinity) { return x > 0 ? '+Inf' : '-Inf'; }
  if (!(x === Math.trunc(x) && a < 1e7)) {
    if (a < 0.001 || a >= 1e18) { return general(x); }
    digits = a < 0.1 ? 4 : a < 1 ? 3 : a < 10 ? 2 : a < 100 ? 1 : 0;
  }
  var text = fixed(x, digits);
  return text.indexOf('.') < 0 ? text : text.replace(/0+$/, '').replace(/\.$/, '');
}

function humanBytes(x) {
  var names = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'], i = 0;
  while (Math.abs(x) >= 999.5 && i < names.length - 1) { x /= 1024; i++; }
  return figures(x) + ' ' + names[i];
}

function humanCount(x) {
  var a = Math.abs(x);
  if (a >= 1e15) { return figures(x / 1e15) + ' P'; }
  if (a >= 1e12) { return figures(x / 1e12) + ' T'; }
  if (a >= 1e9) { return figures(x / 1e9) + ' G'; }
  if (a >= 1e6) { return figures(x / 1e6) + ' M'; }
  if (a >= 1e4) { return figures(x / 1e3) + ' k'; }
  return figures(x);
}

function humanPercent(x) {
  x *= 100;
  var a = Math.abs(x);
  if (a !== 0 && a < 0.095) { return fixed(x, 2) + ' %'; }
  if (a < 10) { return fixed(x, 1) + ' %'; }
  if (a >= 1e18) { return figures(x) + ' %'; }
  return fixed(x, 0) + ' %';
}

function humanPlain(x) {
  var a = Math.abs(x);
  if (x === Math.trunc(x) && a < 1e15 || a >= 1e6 && a < 1e18) { return fixed(x, 0); }
  return figures(x);
}

function two(a, an, b, bn) { return a + an + (b ? ' ' + b + bn : ''); }

// humanDuration is a length of time, in seconds, in its two largest units.
function humanDuration(seconds) {
  if (seconds < 0) { return '-' + humanDuration(-seconds); }
  if (seconds < 59.5) { return figures(seconds) + ' s'; }
  var s = Math.round(seconds);
  if (s < 3600) { return two(Math.floor(s / 60), 'm', s % 60, 's'); }
  if (s < 86400) { return two(Math.floor(s / 3600), 'h', Math.floor(s % 3600 / 60), 'm'); }
  return two(Math.floor(s / 86400), 'd', Math.floor(s % 86400 / 3600), 'h');
}

function humanSeconds(x) {
  var a = Math.abs(x);
  if (a === 0) { return '0 s'; }
  if (a < 1e-6) { return figures(x * 1e9) + ' ns'; }
  if (a < 1e-3) { return figures(x * 1e6) + ' µs'; }
  if (a < 1) { return figures(x * 1e3) + ' ms'; }
  if (!(a >= 60) || a === Infinity) { return figures(x) + ' s'; }
  if (a >= 9223372036.854775807) { return humanCount(x / 86400) + ' d'; } // what replay counts in nanoseconds ends there
  return humanDuration(x);
}

var kinds = {
  bytes: humanBytes, count: humanCount, percent: humanPercent, plain: humanPlain, figures: figures, seconds: humanSeconds
};

// exact is a number of single precision as it was meant: 0.0315 and not
// 0.03150000050663948, which is rounded another way.
function exact(x) {
  if (Number.isInteger(x)) { return x; }
  for (var digits = 6; digits < 9; digits++) {
    var y = Number(x.toPrecision(digits));
    if (Math.fround(y) === x) { return y; }
  }
  return Number(x.toPrecision(9));
}

// write is a value of a plot or a table.
function write(form, x) {
  if (x === null || x === undefined || x !== x) { return '–'; }
  return kinds[form.kind](exact(x)) + (form.suffix || '');
}
