// Run directories: the list, and the chosen ones side by side.

import { get, isSuperseded } from './api.js';
import { duration, el, fill, say, short, shown } from './dom.js';
import { Results } from './results.js';
import { set, state } from './state.js';

const MOST_CHOSEN = 6;

let list = { runs: [], reports: [], unreadable: [] };
let filter = '';
let chosen = [];
let host;
let results;
let events;

/** Whether a run fits the filter: words in its name, kind or state, and key=value of its configuration. */
function fits(run) {
  const configs = run.config.cases ?? run.config.queries ?? [run.config];
  const has = (word) => {
    const [key, value] = word.split('=');
    if (value === undefined) {
      return `${run.name} ${run.kind} ${run.state}`.toLowerCase().includes(word.toLowerCase());
    }
    const at = (config) => key.split('.').reduce((found, part) => {
      if (Array.isArray(found)) return found[Number(part) - 1];
      return found?.[part.replaceAll('-', '_')];
    }, config);
    return configs.some((config) => {
      const found = at(config);
      const all = Array.isArray(found) ? [shown(found).replaceAll(' ', ''), ...found.map(String)] : [String(found)];
      return found !== undefined && all.includes(value);
    });
  };
  return filter.split(/\s+/).filter(Boolean).every(has);
}

function keyNumbers(run) {
  const first = run.numbers.find((numbers) => Object.keys(numbers.values).length > 0);
  if (!first) return '';
  const text = Object.entries(first.values).slice(0, 3).map(([key, value]) => `${key} ${short(value, 3)}`).join(' · ');
  return run.numbers.length > 1 ? `${text} (first of ${run.numbers.length} cases)` : text;
}

function progress(run) {
  const found = run.progress;
  if (!found || found.total === 0) return '';
  const share = Math.min(1, found.done / found.total);
  const percent = `${Math.floor(100 * share)} %`;
  if (run.state !== 'running') return percent;
  const left = found.seconds_left === null ? '' : `, ${duration(found.seconds_left)} left`;
  return [el('progress', { value: share, max: 1, 'aria-label': `Progress of ${run.name}` }), ` ${percent}${left}`];
}

function row(run) {
  const isChosen = chosen.includes(run.name);
  const box = el('input', { type: 'checkbox', 'aria-label': `Show ${run.name}`, onchange: () => choose(run.name, box.checked) });
  box.checked = isChosen;
  return el('tr', { class: isChosen ? 'chosen' : false },
    el('td', {}, box),
    el('th', { scope: 'row', class: 'name' }, run.name),
    el('td', {}, run.kind),
    el('td', {}, el('span', { class: `state ${run.state}` }, run.state),
      run.damaged > 0 ? el('span', { class: 'bad' }, ` ${run.damaged} damaged`) : null),
    el('td', {}, progress(run)),
    el('td', {}, String(run.done)),
    el('td', {}, String(run.under_way)),
    el('td', {}, keyNumbers(run)),
    el('td', {}, new Date(1000 * run.modified).toLocaleString()));
}

function choose(name, on) {
  chosen = on ? [...chosen.filter((other) => other !== name), name].slice(-MOST_CHOSEN) : chosen.filter((other) => other !== name);
  if (on && chosen.length === MOST_CHOSEN) say(`At most ${MOST_CHOSEN} runs are shown at once.`);
  write();
  draw();
  results.show(chosen);
}

function write() {
  if (state().page !== 'runs') return;
  set({ filter, show: chosen.join(',') });
}

/** Draws the list, and keeps the focus where it was. */
function draw() {
  const label = document.activeElement?.closest('.list')
    ? document.activeElement.getAttribute('aria-label') : null;
  const found = list.runs.filter(fits);
  const heads = ['Show', 'Run', 'Kind', 'State', 'Progress', 'Done', 'Under way', 'Key numbers', 'Changed'];
  const table = el('table', {},
    el('caption', { class: 'sr' }, 'Run directories'),
    el('thead', {}, el('tr', {}, heads.map((text) => el('th', { scope: 'col' }, text)))),
    el('tbody', {}, found.map(row)));
  const empty = list.runs.length === 0
    ? `There are no runs in ${list.directory ?? 'the directory'} yet. Start one, for example: remanent simulate --alpha 2,2 --seeds 5, and it appears here.`
    : 'No run fits the filter.';
  fill(host.table, found.length > 0
    ? el('div', { class: 'list', tabindex: '0', role: 'region', 'aria-label': 'List of runs' }, table)
    : el('p', { class: 'empty' }, empty));
  const link = (path) => el('li', {}, el('a', { href: `/files/${path.split('/').map(encodeURIComponent).join('/')}`, target: '_blank', rel: 'noopener' }, path));
  fill(host.reports, list.reports.length > 0 ? [el('h3', {}, 'Reports'), el('ul', {}, list.reports.map(link))] : []);
  fill(host.unreadable, list.unreadable.map((run) => el('p', { class: 'bad' }, `${run.name}: ${run.reason}`)));
  host.count.textContent = `${found.length} of ${list.runs.length} runs`;
  if (label) [...host.table.querySelectorAll('input')].find((box) => box.getAttribute('aria-label') === label)?.focus();
}

async function refresh() {
  try {
    list = await get('runs', '/api/runs');
    draw();
  } catch (error) {
    if (!isSuperseded(error)) fill(host.table, el('p', { class: 'bad' }, error.message));
  }
}

function listen() {
  events?.close();
  events = new EventSource('/api/events');
  let waiting;
  events.addEventListener('message', (event) => {
    const { changed, removed } = JSON.parse(event.data);
    chosen = chosen.filter((name) => !removed.includes(name));
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      await refresh();
      if (chosen.some((name) => changed.includes(name)) || removed.length > 0) results.show(chosen);
    }, 100);
  });
}

function read(parameters) {
  filter = parameters.filter ?? '';
  chosen = (parameters.show ?? '').split(',').filter(Boolean).slice(0, MOST_CHOSEN);
}

export async function start(parameters) {
  read(parameters);
  host = { table: el('div'), reports: el('div'), unreadable: el('div'), count: el('p', { class: 'notes', 'aria-live': 'polite' }), results: el('div') };
  host.filter = el('input', { type: 'search', id: 'filter', value: filter, autocomplete: 'off', 'aria-describedby': 'filter-help',
    oninput: () => { filter = host.filter.value; write(); draw(); } });
  fill(document.getElementById('runs'),
    el('div', { class: 'filter' },
      el('div', {}, el('label', { for: 'filter' }, 'Filter'), host.filter,
        el('p', { id: 'filter-help', class: 'notes' }, 'Words of the name, kind or state, and settings such as learner=sgd or alpha.2=2')),
      host.count),
    host.table, host.unreadable, host.results, host.reports);
  results = new Results(host.results);
  await refresh();
  results.show(chosen);
  listen();
}

export function show(parameters) {
  if ('filter' in parameters || 'show' in parameters) read(parameters);
  host.filter.value = filter;
  write();
  refresh().then(() => results.show(chosen));
  listen();
}

export function hide() {
  events?.close();
}
