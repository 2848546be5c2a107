// Trained networks: an image, and what the hard, the sampled and the mean-field network say about it.

import { get, isSuperseded, post } from './api.js';
import { el, fill, say, short } from './dom.js';
import { set, state } from './state.js';

const KINDS = [
  ['hard', 'Hard network', 'the most probable signs'],
  ['sampled', 'Sampled networks', 'networks drawn from the distribution'],
  ['mean_field', 'Mean-field network', 'passes with Gaussian preactivations'],
];

let models = [];
let datasets = {};
let side = 8;
let pixels = new Float32Array(64);
let parts;
let source = 'draw';
let label = null;
let pen = { x: 0, y: 0, isDown: false, isShown: false };
let timer;

const model = () => models[Number(parts.model.value)] ?? null;

function drawImage() {
  const { canvas } = parts;
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext('2d');
  const image = context.createImageData(side, side);
  pixels.forEach((value, i) => {
    const grey = Math.round(255 * value);
    image.data.set([grey, grey, grey, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  if (pen.isShown) {
    context.fillStyle = 'rgba(240, 128, 60, .8)';
    context.fillRect(pen.x, pen.y, 1, 1);
  }
}

/** Paints a soft spot. */
function paint(x, y) {
  const radius = side / 28 + 0.35;
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y);
      const ink = Math.max(0, Math.min(1, radius + 0.5 - distance));
      const i = row * side + column;
      pixels[i] = Math.max(pixels[i], ink);
    }
  }
  label = null;
  drawImage();
  later();
}

function clear() {
  pixels.fill(0);
  label = null;
  drawImage();
  later();
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(ask, 60);
}

async function ask() {
  const chosen = model();
  if (!chosen) return;
  try {
    const { run, case: number, trial } = chosen;
    const task = Number(parts.task.value);
    const answer = await post('predict', '/api/predict', { run, case: number, trial, task, pixels: [...pixels] });
    showAnswer(answer);
  } catch (error) {
    if (!isSuperseded(error)) fill(parts.answer, el('p', { class: 'bad' }, error.message));
  }
}

function verdict({ probabilities, entropy_bits: entropy, mutual_information_bits: mutual, draws }, first) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const most = Math.log2(probabilities.length);
  const sure = entropy < 0.25 * most ? 'sure' : entropy < 0.6 * most ? 'in doubt' : 'does not know';
  const parts = [`entropy ${short(entropy, 3)} of ${short(most, 3)} bits`];
  if (draws > 1) parts.push(`of which the ${draws} draws disagree by ${short(mutual, 3)}`);
  return [el('p', { class: 'verdict' }, el('strong', {}, String(best + first)), ` – ${sure}`),
    el('p', { class: 'notes' }, parts.join(', '))];
}

function showAnswer(answer) {
  const card = ([key, title, about]) => {
    const found = answer[key];
    const best = found.probabilities.indexOf(Math.max(...found.probabilities));
    const row = (p, i) => {
      const name = String(i + answer.first_class);
      const spread = found.draws > 1 ? ` ± ${short(found.standard_deviations[i], 2)}` : '';
      return el('tr', { class: i === best ? 'best' : false }, el('th', { scope: 'row' }, name),
        el('td', { class: 'bar' }, el('meter', { min: 0, max: 1, value: p, 'aria-label': `${title}, class ${name}` })),
        el('td', {}, short(p, 3) + spread));
    };
    return el('article', { class: 'panel', 'aria-label': title, 'data-kind': key }, el('h3', {}, title), el('p', { class: 'notes' }, about),
      verdict(found, answer.first_class),
      el('table', {}, el('thead', { class: 'sr' }, el('tr', {}, ['class', 'bar', 'probability'].map((text) => el('th', { scope: 'col' }, text)))),
        el('tbody', {}, found.probabilities.map(row))));
  };
  const layers = answer.uncertainty_by_layer.map((value, i) => `layer ${i + 1}: ${short(value, 3)}`).join(', ');
  fill(parts.answer,
    label === null ? null : el('p', {}, `The label of the image is ${label}.`),
    el('div', { class: 'bars' }, KINDS.map(card)),
    el('p', { class: 'notes' }, `⟨σ²⟩ of the weights, ${layers}.`));
}

async function pick() {
  source = parts.source.value;
  parts.index.disabled = source === 'draw';
  parts.next.disabled = source === 'draw';
  write();
  if (source === 'draw') { clear(); return; }
  const index = Number(parts.index.value);
  try {
    const found = await get('image', `/api/image?source=${source}&index=${index}&inputs=${side * side}`);
    pixels = Float32Array.from(found.pixels);
    label = found.label;
    parts.index.max = found.count - 1;
    drawImage();
    ask();
  } catch (error) {
    if (!isSuperseded(error)) say(error.message);
  }
}

function choose() {
  const chosen = model();
  if (!chosen) return;
  const inputs = Object.keys(datasets).map(Number).find((size) => size === chosen.inputs) ?? chosen.inputs;
  side = Math.round(Math.sqrt(inputs));
  pixels = new Float32Array(side * side);
  fill(parts.task, Array.from({ length: chosen.tasks }, (_, i) => el('option', { value: String(i) }, `task ${i + 1}`)));
  const names = ['draw', ...(datasets[inputs] ?? []), 'noise'];
  fill(parts.source, names.map((name) => el('option', { value: name }, name === 'draw' ? 'draw it yourself' : name)));
  parts.source.value = names.includes(source) ? source : names.length > 2 ? names[1] : 'draw';
  pick();
}

function write() {
  if (state().page !== 'model') return;
  set({ model: parts.model.value, task: parts.task.value, source, index: parts.index.value });
}

function keys(event) {
  const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (move) {
    pen.x = Math.min(side - 1, Math.max(0, pen.x + move[0]));
    pen.y = Math.min(side - 1, Math.max(0, pen.y + move[1]));
    if (event.shiftKey) paint(pen.x + 0.5, pen.y + 0.5);
  } else if (event.key === ' ') {
    paint(pen.x + 0.5, pen.y + 0.5);
  } else if (event.key === 'Delete' || event.key === 'Backspace') {
    clear();
  } else {
    return;
  }
  event.preventDefault();
  pen.isShown = true;
  drawImage();
}

function pointer(event) {
  const box = parts.canvas.getBoundingClientRect();
  paint(side * (event.clientX - box.left) / box.width, side * (event.clientY - box.top) / box.height);
}

function build() {
  const field = (id, text, control, kind = '') => el('div', { class: `control choice ${kind}` }, el('label', { for: id }, text), control);
  parts = {
    model: el('select', { id: 'm-model', onchange: choose }),
    task: el('select', { id: 'm-task', onchange: () => { write(); ask(); } }),
    source: el('select', { id: 'm-source', onchange: pick }),
    index: el('input', { id: 'm-index', type: 'number', min: '0', step: '1', value: '0', onchange: pick }),
    next: el('button', { type: 'button', onclick: () => { parts.index.value = Number(parts.index.value) + 1; pick(); } }, 'Next'),
    canvas: el('canvas', { id: 'm-canvas', tabindex: '0', role: 'img', 'aria-describedby': 'm-help',
      'aria-label': 'The image. Draw with the mouse or with the keys.',
      onkeydown: keys, onblur: () => { pen.isShown = false; drawImage(); },
      onpointerdown: (event) => { pen.isDown = true; parts.canvas.setPointerCapture(event.pointerId); pointer(event); },
      onpointermove: (event) => { if (pen.isDown) pointer(event); },
      onpointerup: () => { pen.isDown = false; } }),
    answer: el('div', { 'aria-live': 'polite' }),
  };
  fill(document.getElementById('model'), el('div', { class: 'model' },
    el('form', { class: 'image', 'aria-label': 'Network and image', onsubmit: (event) => event.preventDefault() },
      el('fieldset', {}, el('legend', {}, 'Network'), field('m-model', 'Trained network', parts.model, 'wide'), field('m-task', 'Asked as in', parts.task)),
      el('fieldset', {}, el('legend', {}, 'Image'), field('m-source', 'Images', parts.source), field('m-index', 'Number', parts.index),
        parts.canvas,
        el('p', { class: 'notes', id: 'm-help' }, 'Draw with the mouse, or with arrow keys and the space bar; Shift and an arrow draws a line.'),
        el('div', { class: 'buttons' }, parts.next,
          el('button', { type: 'button', onclick: () => { parts.source.value = 'draw'; pick(); } }, 'Clear')))),
    parts.answer));
}

export async function start(parameters) {
  try {
    const found = await get('models', '/api/models');
    ({ models, datasets } = found);
  } catch (error) {
    fill(document.getElementById('model'), el('p', { class: 'bad' }, error.message));
    return;
  }
  if (models.length === 0) {
    fill(document.getElementById('model'), el('p', { class: 'empty' },
      'There is no trained network yet. Train one, for example: remanent train --stream sequence:digits --out runs/digits, and reload the page.'));
    return;
  }
  build();
  fill(parts.model, models.map((one, i) => {
    const text = [one.run, one.label, `trial ${one.trial}`].filter(Boolean).join(' · ');
    return el('option', { value: String(i) }, text);
  }));
  if (models[Number(parameters.model)]) parts.model.value = parameters.model;
  source = parameters.source ?? source;
  if (/^\d+$/.test(parameters.index ?? '')) parts.index.value = parameters.index;
  choose();
  if ([...parts.task.options].some((option) => option.value === parameters.task)) parts.task.value = parameters.task;
}

export function show() {
  if (parts) write();
}
