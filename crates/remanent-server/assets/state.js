// The state of the page, which is in its address: #theory?alpha=2,2&beta=20.

export const pages = ['theory', 'runs', 'model'];

const listeners = new Set();
let current = read();

function read() {
  const [page, query = ''] = location.hash.slice(1).split('?');
  const parameters = Object.fromEntries(new URLSearchParams(query));
  return { page: pages.includes(page) ? page : 'theory', parameters };
}

function write({ page, parameters }) {
  const known = Object.entries(parameters).filter(([, value]) => value !== '' && value !== undefined);
  const query = new URLSearchParams(known).toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return `#${page}${query ? `?${query}` : ''}`;
}

/** The page and its parameters. */
export function state() {
  return current;
}

/** Sets parameters of the page without a step in the history. */
export function set(parameters) {
  current = { ...current, parameters };
  history.replaceState(null, '', write(current));
}

/** The address of the page as it is shown. */
export function link() {
  return location.href;
}

/** Calls back when the user follows a link or goes back. */
export function follow(listener) {
  listeners.add(listener);
}

window.addEventListener('hashchange', () => {
  const before = current.page;
  // The link that skips the navigation is no page.
  if (location.hash === '#main') {
    document.getElementById('main').focus();
    history.replaceState(null, '', write(current));
    return;
  }
  current = read();
  for (const listener of listeners) listener(current, before);
});
