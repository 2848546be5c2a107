// The theory under sliders: controls, and the panels that follow them.

import { el, fill } from './dom.js';
import { panels } from './panels.js';
import { set } from './state.js';

/** What the controls start from. Values are kept as numbers and lists of numbers. */
const DEFAULTS = {
  alpha: [2, 2], beta: 20, gamma: 1, r0: 0.5, branch: 'stable', prior: 'none', rsb: '0',
  objective: 'mean', high: 3, scale: 'linear',
};

const WORDS = {
  branch: ['stable', 'poor', 'good'],
  prior: ['none', 'uniform'],
  rsb: ['0', '1', 'auto'],
  objective: ['mean', 'max'],
  scale: ['linear', 'log'],
};

const MOST_TASKS = 10;

/** Sliders: limits of the slider and of the field, and whether the slider is logarithmic. */
const SLIDERS = {
  alpha: { label: 'α', about: 'patterns per weight', low: 0.05, high: 6, least: 0.0001, most: 1000 },
  beta: { label: 'β', about: 'inverse temperature', low: 1, high: 100, least: 0.01, most: 1000, log: true },
  gamma: { label: 'γ', about: 'factor of the KL term', low: 0, high: 3, least: 0, most: 1000 },
  r0: { label: 'r₀', about: 'overlap of neighbouring teachers', low: -1, high: 1, least: -1, most: 1 },
};

let values = structuredClone(DEFAULTS);
let tasksHost;
const fields = new Map();

/** Reads the state of an address; what is not valid keeps its default. */
function read(parameters) {
  const next = structuredClone(DEFAULTS);
  const number = (key, text) => {
    const { least, most } = SLIDERS[key];
    const value = Number(text);
    return text !== '' && Number.isFinite(value) && value >= least && value <= most ? value : null;
  };
  for (const key of ['beta', 'gamma', 'r0']) next[key] = number(key, parameters[key] ?? '') ?? next[key];
  const alpha = (parameters.alpha ?? '').split(',').map((text) => number('alpha', text));
  if (alpha.length <= MOST_TASKS && alpha.every((value) => value !== null)) next.alpha = alpha;
  for (const [key, words] of Object.entries(WORDS)) if (words.includes(parameters[key])) next[key] = parameters[key];
  const high = Number(parameters.high);
  if (high >= 0.5 && high <= 20) next.high = high;
  return next;
}

function write() {
  const same = (key) => JSON.stringify(values[key]) === JSON.stringify(DEFAULTS[key]);
  const known = Object.keys(DEFAULTS).filter((key) => !same(key) || ['alpha', 'beta', 'gamma', 'r0'].includes(key));
  set(Object.fromEntries(known.map((key) => [key, String(values[key])])));
  // On paper there are no controls.
  const words = { 0: 'symmetric', 1: 'broken in one step', auto: 'broken in as many steps as needed' };
  document.getElementById('parameters').textContent = `α = ${values.alpha.join(', ')}; β = ${values.beta}; γ = ${values.gamma}; `
    + `r₀ = ${values.r0}; ${values.branch} branch; prior of the first task: ${values.prior}; replica symmetry: ${words[values.rsb]}; `
    + `γ minimises the ${values.objective === 'max' ? 'largest' : 'mean'} error.`;
}

function changed(keys) {
  write();
  for (const panel of panels) if (panel.follows.some((key) => keys.includes(key))) panel.update(values);
}

const toSlider = (spec, value) => (spec.log ? Math.log10(value) : value);
const fromSlider = (spec, text) => {
  const value = spec.log ? 10 ** Number(text) : Number(text);
  return Number(value.toPrecision(3));
};

/** A slider and a field for the same number. */
function control(key, id, text, get, put) {
  const spec = SLIDERS[key];
  const [low, high] = [toSlider(spec, spec.low), toSlider(spec, spec.high)];
  const step = spec.log ? 0.01 : (spec.high - spec.low) / 300;
  const slider = el('input', {
    type: 'range', id: `${id}-slider`, min: low, max: high, step: step > 0.005 ? 0.01 : step,
    'aria-label': `${text}, slider`,
    oninput: () => { put(fromSlider(spec, slider.value)); field.value = get(); changed([key]); },
  });
  const field = el('input', {
    type: 'number', id, min: spec.least, max: spec.most, step: 'any', required: true,
    onchange: () => {
      const value = Number(field.value);
      const isGood = field.value !== '' && value >= spec.least && value <= spec.most;
      field.setAttribute('aria-invalid', String(!isGood));
      if (!isGood) return;
      put(value);
      slider.value = toSlider(spec, value);
      changed([key]);
    },
  });
  const refresh = () => {
    field.value = get();
    field.removeAttribute('aria-invalid');
    slider.value = toSlider(spec, Math.max(get(), spec.log ? spec.low : get()));
  };
  fields.set(id, refresh);
  refresh();
  return el('div', { class: 'control' },
    el('label', { for: id }, el('span', { class: 'symbol' }, text), el('small', {}, spec.about)), field, slider);
}

function choice(key, text, names = {}) {
  const select = el('select', {
    id: `c-${key}`, onchange: () => { values[key] = select.value; changed([key]); },
  }, WORDS[key].map((word) => el('option', { value: word }, names[word] ?? word)));
  const refresh = () => { select.value = values[key]; };
  fields.set(`c-${key}`, refresh);
  refresh();
  return el('div', { class: 'control choice' }, el('label', { for: `c-${key}` }, text), select);
}

function buildTasks() {
  const count = values.alpha.length;
  for (const id of [...fields.keys()]) if (id.startsWith('alpha-')) fields.delete(id);
  const task = (i) => control('alpha', `alpha-${i + 1}`, `α of task ${i + 1}`,
    () => values.alpha[i], (value) => { values.alpha[i] = value; });
  const resize = (alpha, focus) => {
    values.alpha = alpha;
    buildTasks();
    changed(['alpha']);
    tasksHost.querySelector(focus)?.focus();
  };
  fill(tasksHost,
    el('legend', {}, `Tasks: ${count}`),
    values.alpha.map((_, i) => task(i)),
    el('div', { class: 'buttons' },
      el('button', { type: 'button', class: 'add', disabled: count >= MOST_TASKS,
        onclick: () => resize([...values.alpha, values.alpha.at(-1)], '.add') }, 'Add a task'),
      el('button', { type: 'button', class: 'less', disabled: count <= 1,
        onclick: () => resize(values.alpha.slice(0, -1), '.less') }, 'Remove the last')));
}

function build() {
  tasksHost = el('fieldset', { class: 'tasks' });
  const one = (key) => control(key, key, SLIDERS[key].label, () => values[key], (value) => { values[key] = value; });
  fill(document.getElementById('controls'),
    el('fieldset', {}, el('legend', {}, 'Learning'), one('beta'), one('gamma'), one('r0')),
    tasksHost,
    el('fieldset', {}, el('legend', {}, 'Solutions'),
      choice('branch', 'Branch'),
      choice('prior', 'Prior of the first task'),
      choice('rsb', 'Replica symmetry', { 0: 'symmetric', 1: 'one step of breaking', auto: 'steps as needed' }),
      choice('objective', 'γ minimises the', { mean: 'mean error', max: 'largest error' }),
      choice('scale', 'Scale of ε')),
    el('button', { type: 'button', class: 'wide', onclick: () => { load({}); write(); } }, 'Reset'));
  document.getElementById('controls').addEventListener('submit', (event) => event.preventDefault());
  buildTasks();
}

function load(parameters) {
  values = read(parameters);
  buildTasks();
  for (const refresh of fields.values()) refresh();
  for (const panel of panels) panel.update(values);
}

export function start(parameters) {
  values = read(parameters);
  build();
  document.getElementById('panels').append(...panels.map((panel) => panel.build()));
  for (const panel of panels) panel.update(values);
  write();
}

export function show(parameters) {
  if (Object.keys(parameters).length > 0) load(parameters);
  else write();
}
