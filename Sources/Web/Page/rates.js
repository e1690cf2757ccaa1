// Bit rates from counts of bytes, where the service does not tell them.

// Seconds that a rate is the mean of.
const window = 5;

export class Rates {
  #counts = new Map();

  // Bits a second, of a count that grows; undefined while it is not known.
  // - key: whose count it is.
  of(key, bytes) {
    if (!bytes) return undefined;
    const now = performance.now() / 1000;
    let counts = this.#counts.get(key) ?? [];
    // A count that begins again belongs to another connection.
    if (counts.length && counts.at(-1).bytes > bytes) counts = [];
    counts.push({ now, bytes });
    while (counts.length > 2 && counts[1].now < now - window) counts.shift();
    this.#counts.set(key, counts);
    const length = now - counts[0].now;
    return length < 0.5 ? undefined : 8 * (bytes - counts[0].bytes) / length;
  }

  clear() { this.#counts.clear(); }

  // Fills in what a stream's figures do not have.
  complete(figures) {
    if (!figures) return figures;
    if (figures.input && figures.input.bitRate === undefined) figures.input.bitRate = this.of("input", figures.input.bytesReceived);
    figures.outputs?.forEach((output, index) => {
      if (output.bitRate === undefined) output.bitRate = this.of(`output ${index}`, output.link?.bytesSent);
    });
    return figures;
  }
}
