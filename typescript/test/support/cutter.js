/** Cuts connections in the middle of what they carry: resets them, or lets them go silent. */

/** Pseudo-random numbers from a seed, so that a run can be repeated. */
export function randomOf(seed) {
  let state = BigInt(seed);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 33n) / 2 ** 31;
  };
}

/**
 * Decides where to cut. Bytes of either direction count; the cut is within the chunk in which the
 * count is reached.
 */
export class Cutter {
  cuts = 0;
  #left;

  constructor({ seed = 1, most = 0, least = 2_000, greatest = 200_000 } = {}) {
    this.random = randomOf(seed);
    Object.assign(this, { most, least, greatest });
    this.#next();
  }

  #next() {
    this.#left = Math.floor(this.least + this.random() * (this.greatest - this.least));
  }

  /** How many bytes of a chunk pass, and how the connection is cut behind them, if it is. */
  pass(length) {
    if (this.cuts >= this.most || length < this.#left) {
      this.#left -= length;
      return { bytes: length, cut: undefined };
    }
    const bytes = this.#left;
    this.#next();
    this.cuts += 1;
    return { bytes, cut: this.cuts % 2 === 0 ? "silent" : "reset" };
  }
}
