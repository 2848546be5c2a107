// Elements of the page, and messages to its user.

/** An element with attributes and children. `on…` attributes are listeners. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'class') element.className = value;
    else if (key === 'value') element.value = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

let timer;

/** Says something to the user, also to one who does not see the page. */
export function say(text) {
  const status = document.getElementById('status');
  status.textContent = text;
  status.classList.toggle('shown', text !== '');
  clearTimeout(timer);
  timer = setTimeout(() => status.classList.remove('shown'), 4000);
}

/** Copies a text to the clipboard. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure connection there is no clipboard for scripts.
    const area = el('textarea', { class: 'sr', 'aria-hidden': 'true', value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say(`Copied: ${what}`);
}

/** A number in few digits. */
export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}

/** Seconds as a person would say them. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A value of a configuration as text. */
export function shown(value) {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}
