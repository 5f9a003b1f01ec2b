// Numbers as people type them, read by the page's own language and not by the browser's.

/** The decimal sign of a language. */
function decimalOf(language: string): string {
  const parts = new Intl.NumberFormat(language).formatToParts(1.5);
  return parts.find(({ type }) => type === "decimal")?.value === "," ? "," : ".";
}

/** Digits of Arabic and Persian keyboards, and their signs, as plain ones. */
function plain(text: string): string {
  return text
    .trim()
    .replace(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replace(/\u066b/g, ".")
    .replace(/\u066c/g, ",")
    .replace(/\u2212/g, "-")
    .replace(/(?<=\d)['\u2019\u00a0\u202f ](?=\d{3}(?!\d))/g, "");
}

/**
 * The number that a text means beyond doubt; NaN where it could mean another one, or none.
 *
 * Either sign can separate decimals. But one that is not the language's own, before exactly three
 * digits, could as well separate thousands: on a German page, 1.000 is refused, and so is 1,000 on
 * an
 * English one.
 */
export function numberIn(text: string, language: string): number {
  const [, sign, digits] = /^([-+]?)([\d.,]+)$/.exec(plain(text)) ?? [];
  const number = digits ? unsigned(digits, decimalOf(language)) : undefined;
  return number === undefined ? NaN : Number(`${sign}${number}`);
}

function unsigned(digits: string, decimal: string): string | undefined {
  if (/^\d+$/.test(digits)) return digits;
  const [, whole, sign, rest] = /^(\d*)([.,])(\d*)$/.exec(digits) ?? [];
  if (sign) {
    const isGroup = sign !== decimal && /^[1-9]\d{0,2}$/.test(whole) && rest.length === 3;
    return isGroup || !(whole && rest) ? undefined : `${whole}.${rest}`;
  }
  const grouped = /^([1-9]\d{0,2})(?:\.\d{3})+(?:,(\d+))?$|^([1-9]\d{0,2})(?:,\d{3})+(?:\.(\d+))?$/;
  const [all, , comma, , point] = grouped.exec(digits) ?? [];
  if (!all) return undefined;
  const fraction = comma ?? point;
  const groups = fraction ? all.slice(0, -1 - fraction.length) : all;
  return `${groups.replace(/[.,]/g, "")}${fraction ? `.${fraction}` : ""}`;
}
