// Times in the zone of the page, whatever the zone of the browser.

function Clock(zone) {
  this.zone = zone;
}

// offset is how far the zone is from UTC at an instant.
Clock.prototype.offset = function (ms) {
  var list = this.zone.offsets, found = list[0];
  for (var i = 1; i < list.length && list[i].from <= ms; i++) { found = list[i]; }
  return found;
};

// local is a Date whose UTC fields are what the clock of the zone showed.
Clock.prototype.local = function (ms) {
  return new Date(ms + this.offset(ms).seconds * 1000);
};

function pad(n) { return String(n).padStart(2, '0'); }

Clock.prototype.day = function (ms) {
  var d = this.local(ms);
  return d.getUTCFullYear() + '-' + pad(d.getUTCMonth() + 1) + '-' + pad(d.getUTCDate());
};

Clock.prototype.minute = function (ms) {
  var d = this.local(ms);
  return pad(d.getUTCHours()) + ':' + pad(d.getUTCMinutes());
};

Clock.prototype.second = function (ms) {
  return this.minute(ms) + ':' + pad(this.local(ms).getUTCSeconds());
};

// full is an instant as replay shows it.
Clock.prototype.full = function (ms) {
  return this.day(ms) + ' ' + this.second(ms) + ' ' + this.offset(ms).name;
};

// iso is an instant as programs read it, with the offset of the zone.
Clock.prototype.iso = function (ms) {
  var minutes = Math.round(this.offset(ms).seconds / 60), far = Math.abs(minutes);
  var text = new Date(ms + minutes * 60000).toISOString().slice(0, -1).replace('.000', '');
  return text + (minutes ? (minutes < 0 ? '-' : '+') + pad(Math.floor(far / 60)) + ':' + pad(far % 60) : 'Z');
};

// span is from when to when, as short as it can be told.
Clock.prototype.span = function (from, to) {
  return this.second(from) + (to > from ? ' to ' + (this.day(from) === this.day(to) ? '' : this.day(to) + ' ') + this.second(to) : '');
};

// Distances between ticks, in seconds.
var distances = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000];

// ticks are round times between two instants, at most so many.
Clock.prototype.ticks = function (from, to, most) {
  var distance = distances.find(function (d) { return (to - from) / 1000 / d <= most; }) || distances[distances.length - 1];
  distance *= 1000;
  var out = [];
  // Rounded on the clock of the zone: midnight is a tick in every zone.
  for (var at = from; at <= to;) {
    var shift = this.offset(at).seconds * 1000;
    var tick = Math.ceil((at + shift) / distance) * distance - shift;
    if (tick > to) { break; }
    out.push(tick);
    at = tick + 1;
  }
  return { distance: distance, at: out };
};

// labels are what stands at ticks: the day where it begins, else the time.
Clock.prototype.labels = function (ticks) {
  var clock = this;
  return ticks.at.map(function (ms, i) {
    var local = clock.local(ms), midnight = local.getUTCHours() + local.getUTCMinutes() + local.getUTCSeconds() === 0;
    if (ticks.distance >= 86400000 || midnight) { return clock.day(ms).slice(5); }
    return ticks.distance < 60000 ? clock.second(ms) : clock.minute(ms);
  });
};
