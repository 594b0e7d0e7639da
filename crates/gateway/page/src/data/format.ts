/** Numbers and times as people read them. */

const NONE = "–";

/** A whole number with groups of three digits. */
export const whole = (value: number): string => Math.round(value).toLocaleString("en");

/** A rate in three or four digits: `0`, `0.4`, `12.5`, `4,321`, `12.3k`, `4.56M`. */
export function rate(value: number | null): string {
  if (value === null) return NONE;
  return value >= 1e3 && value < 1e4 ? whole(value) : compact(value);
}

/** A number in three digits. */
export function compact(value: number): string {
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (value >= unit) return `${digits(value / unit)}${letter}`;
  }
  return digits(value);
}

/** Bytes a second, in units of 1,024. */
export function bytesRate(value: number | null): string {
  if (value === null) return NONE;
  for (const [least, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const) {
    if (value >= least) return `${digits(value / least)} ${unit}/s`;
  }
  return `${Math.round(value)} B/s`;
}

const digits = (value: number): string =>
  value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2).replace(/0$/, "").replace(/\.0?$/, "");

/** A round trip, from microseconds. */
export function roundTrip(us: number | null): string {
  if (us === null) return NONE;
  if (us < 1000) return `${us} µs`;
  return us < 1e6 ? `${digits(us / 1000)} ms` : `${digits(us / 1e6)} s`;
}

/** A span of time in its two largest units. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
