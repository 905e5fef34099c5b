// How a page that is a file comes by its data: it holds them as text, deflated.
function load() {
  var holder = document.getElementById('data'), text = holder.textContent;
  holder.textContent = '';
  if (Uint8Array.fromBase64) { return Promise.resolve(Uint8Array.fromBase64(text)); }
  var raw = atob(text), bytes = new Uint8Array(raw.length);
  for (var i = 0; i < raw.length; i++) { bytes[i] = raw.charCodeAt(i); }
  return Promise.resolve(bytes);
}

// unpack makes a document and a function for its blocks of what load gave.
function unpack(bytes) {
  if (typeof DecompressionStream === 'undefined') {
    return Promise.reject(new Error('This browser cannot unpack the data of this page (it lacks DecompressionStream): use one of 2023 or later.'));
  }
  var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).arrayBuffer().then(function (buffer) {
    var length = new DataView(buffer).getUint32(0, true);
    var doc = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    var raw = new Uint8Array(buffer, 4 + length);
    // bits of a block: bytes of the same weight stand together, each number combined
    // with the one before it.
    doc.bits = function (block) {
      var from = block > 1 ? doc.ends[block - 2] : 0, n = (doc.ends[block - 1] - from) / 4;
      var out = new Uint32Array(n), before = 0;
      for (var i = 0; i < n; i++) {
        before ^= raw[from + i] | raw[from + n + i] << 8 | raw[from + 2 * n + i] << 16 | raw[from + 3 * n + i] << 24;
        out[i] = before;
      }
      return out;
    };
    // numbers of a block; null where nothing was recorded.
    doc.numbers = function (block) {
      var values = new Float32Array(doc.bits(block).buffer), out = new Array(values.length);
      for (var i = 0; i < out.length; i++) { out[i] = values[i] === values[i] ? values[i] : null; }
      return out;
    };
    return doc;
  });
}
