// Figures as people read them. What is unknown is a dash, never 0.

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const integer = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });

export const unknown = "–";

const known = (format) => (value) => value == null || Number.isNaN(value) ? unknown : format(value);

export const decimal = known((value) => number.format(value));
export const whole = known((value) => integer.format(value));
export const milliseconds = known((seconds) => `${(seconds < 0.001 ? fine : number).format(seconds * 1000)} ms`);
export const percent = known((share) => `${number.format(share * 100)} %`);

export const bitRate = known((rate) => {
  if (rate >= 1e6) return `${fine.format(rate / 1e6)} Mb/s`;
  return rate >= 1e3 ? `${integer.format(rate / 1e3)} kb/s` : `${integer.format(rate)} b/s`;
});

// The two largest units: "3 h 12 min".
export const duration = known((seconds) => {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first < 0) return "0 s";
  let rest = Math.floor(seconds);
  return units.slice(first, first + 2).map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return [count, unit];
  }).filter(([count]) => count > 0).map((part) => part.join(" ")).join(" ");
});
