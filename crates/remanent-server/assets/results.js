// What came of the chosen runs: configurations side by side, curves, matrices, and the theory beside
// simulations.

import { get, isSuperseded } from './api.js';
import { el, fill, short, shown } from './dom.js';
import { Chart } from './plot.js';

/** Curves of a training: name, axis, and the lists of an epoch. */
const TRAINING = [
  { id: 'accuracy', title: 'Accuracy of each task', y: 'accuracy', of: (epoch, how) => epoch.accuracy?.[how], name: (i) => `task ${i + 1}` },
  { id: 'loss', title: 'Loss', y: 'cross entropy', of: (epoch) => [epoch.loss], name: () => 'loss' },
  { id: 'uncertainty', title: 'Uncertainty per layer', y: '⟨σ²⟩', of: (epoch) => epoch.uncertainty, name: (i) => `layer ${i + 1}` },
  { id: 'flips', title: 'Flips per layer', y: 'share of signs', of: (epoch) => epoch.flip_ratio, name: (i) => `layer ${i + 1}` },
];

/** Curves of a simulation. */
const SIMULATION = [
  { id: 'eps', title: 'Error of each task', y: 'ε', of: (row) => row.eps, name: (i) => `task ${i + 1}` },
  { id: 'q_star', title: 'Self-overlap', y: 'q⋆', of: (row) => [row.q_star], name: () => 'q⋆' },
  { id: 'loss', title: 'Loss', y: 'L', of: (row) => [row.loss], name: () => 'L' },
];

const PREDICTORS = ['stochastic', 'mean_field', 'sampled', 'hard'];

const mean = (value) => (value !== null && typeof value === 'object' ? value.mean : value);

export class Results {
  constructor(host) {
    this.host = host;
    this.charts = new Map();
    this.predictor = 'stochastic';
    this.beta = 20;
    this.details = [];
  }

  async show(names) {
    this.names = names;
    const load = async (name) => {
      const path = `/api/run/${name.split('/').map(encodeURIComponent).join('/')}`;
      return { name, ...await get(`run ${name}`, path) };
    };
    try {
      const details = await Promise.all(names.map(load));
      if (this.names !== names) return;
      this.details = details;
      this.draw();
    } catch (error) {
      if (!isSuperseded(error)) fill(this.host, el('p', { class: 'bad' }, error.message));
    }
  }

  /** All cases of all runs, with a name for each. */
  cases() {
    return this.details.flatMap((run) => (run.results?.cases ?? []).map((one) => ({
      run, one, label: [this.details.length > 1 ? run.name : '', one.label].filter(Boolean).join(': '),
    })));
  }

  draw() {
    const kinds = new Set(this.details.map((run) => run.overview.kind));
    const wanted = this.details.map((run) => `${run.name} ${run.overview.kind} ${run.results?.cases.length}`).join('|');
    if (wanted !== this.built) {
      this.built = wanted;
      for (const chart of this.charts.values()) chart.remove();
      this.charts.clear();
      const grid = el('div', { class: 'panels' });
      this.parts = { differences: el('div'), matrices: el('div', { class: 'panels' }), comparison: el('div'), files: el('div') };
      const build = (curves, prefix) => curves.forEach((spec) => {
        const box = el('article', { class: 'panel', 'aria-label': spec.title }, el('h3', {}, spec.title));
        grid.append(box);
        this.charts.set(prefix + spec.id, new Chart(box, { x: 'epoch', y: spec.y, height: 260, name: spec.title, isWhole: true }));
      });
      if (kinds.has('train')) build(TRAINING, 't-');
      if (kinds.has('simulate')) build(SIMULATION, 's-');
      fill(this.host, this.names.length === 0 ? el('p', { class: 'empty' }, 'Choose one or more runs to see their results.') : null,
        this.parts.differences, kinds.has('train') ? this.predictors() : null, grid, this.parts.matrices,
        kinds.has('simulate') ? this.comparing() : null, this.parts.comparison, this.parts.files);
    }
    this.drawDifferences();
    if (kinds.has('train')) { this.drawCurves(TRAINING, 't-', 'training'); this.drawMatrices(); }
    if (kinds.has('simulate')) this.drawCurves(SIMULATION, 's-', 'simulation');
    this.drawFiles();
  }

  predictors() {
    const select = el('select', { id: 'predictor', onchange: () => { this.predictor = select.value; this.draw(); } },
      PREDICTORS.map((name) => el('option', { value: name }, name.replace('_', ' '))));
    select.value = this.predictor;
    return el('div', { class: 'filter' }, el('div', {}, el('label', { for: 'predictor' }, 'Predictor'), select));
  }

  /** Settings in which the cases differ; for one case all settings. */
  drawDifferences() {
    const cases = this.cases();
    if (cases.length === 0) { fill(this.parts.differences); return; }
    const keys = [...new Set(cases.flatMap(({ one }) => Object.keys(one.config)))].sort();
    const text = (one, key) => shown(one.config[key]);
    const differs = keys.filter((key) => cases.some(({ one }) => text(one, key) !== text(cases[0].one, key)));
    const listed = cases.length > 1 ? differs : keys.filter((key) => cases[0].one.config[key] !== null);
    const head = ['Setting', ...cases.map(({ label }, i) => label || `case ${i + 1}`)];
    const counts = el('tr', {}, el('th', { scope: 'row' }, 'trials done'), cases.map(({ one }) => el('td', {}, String(one.trials))));
    const row = (key) => el('tr', {}, el('th', { scope: 'row' }, key), cases.map(({ one }) => el('td', {}, text(one, key))));
    const title = cases.length > 1 ? 'Differences of the configurations' : 'Configuration';
    const reasons = this.details.filter((run) => run.reason).map((run) => el('p', { class: 'bad' }, `${run.name}: ${run.reason}`));
    fill(this.parts.differences, reasons, el('details', { open: cases.length > 1 }, el('summary', {}, title),
      el('div', { class: 'list', tabindex: '0', role: 'region', 'aria-label': title }, el('table', {},
        el('thead', {}, el('tr', {}, head.map((name) => el('th', { scope: 'col' }, name)))),
        el('tbody', {}, counts, listed.map(row))))));
  }

  drawCurves(specs, prefix, part) {
    for (const spec of specs) {
      const curves = [];
      this.cases().forEach(({ one, label }) => {
        const rows = part === 'training' ? one.training?.epochs : one.simulation?.rows;
        const add = (rows, suffix, style) => {
          const count = Math.max(0, ...rows.map((row) => spec.of(row, this.predictor)?.length ?? 0));
          for (let i = 0; i < count; i += 1) {
            const points = rows.map((row) => [row.epoch, mean(spec.of(row, this.predictor)?.[i] ?? null)])
              .filter(([, y]) => y !== null && Number.isFinite(y));
            const name = [label, count > 1 ? spec.name(i) : '', suffix].filter(Boolean).join(', ');
            curves.push({ label: name || spec.name(i), points, ...style });
          }
        };
        if (rows) add(rows, '', {});
        for (const trial of one.under_way) {
          if (Array.isArray(trial.rows)) add(trial.rows, `trial ${trial.trial ?? ''} under way`, { thin: true, dash: [3, 3] });
        }
      });
      const shownCurves = curves.slice(0, 40);
      shownCurves.forEach((curve, i) => { curve.colour = i; });
      this.charts.get(prefix + spec.id)?.draw(shownCurves, [], `${curves.length} curves.`);
    }
  }

  drawMatrices() {
    const found = this.cases().filter(({ one }) => one.training?.[this.predictor]);
    fill(this.parts.matrices, found.map(({ one, label }) => {
      const summary = one.training[this.predictor];
      const matrix = summary.accuracy_matrix;
      const title = `Accuracy matrix${label ? `: ${label}` : ''}`;
      const cell = (entry) => {
        const td = el('td', {}, short(entry.mean, 3));
        const share = Math.min(1, Math.max(0, entry.mean));
        // From white to blue; the text stays readable on both.
        td.style.background = `hsl(205 75% ${96 - 66 * share}%)`;
        td.style.color = share > 0.62 ? '#fff' : '#000';
        return td;
      };
      const numbers = ['average_accuracy', 'forgetting', 'backward_transfer', 'forward_transfer', 'nll', 'ece', 'ood_auc']
        .filter((key) => summary[key]).map((key) => `${key.replaceAll('_', ' ')} ${short(summary[key].mean)}`);
      return el('article', { class: 'panel', 'aria-label': title }, el('h3', {}, title),
        el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title },
          el('table', { class: 'heat' },
            el('thead', {}, el('tr', {}, el('td'), matrix[0].map((_, i) => el('th', { scope: 'col' }, `task ${i + 1}`)))),
            el('tbody', {}, matrix.map((row, i) => el('tr', {}, el('th', { scope: 'row' }, `after ${i + 1}`), row.map(cell)))))),
        el('p', { class: 'notes' }, numbers.join(' · ')));
    }));
  }

  comparing() {
    const field = el('input', { type: 'number', id: 'theory-beta', min: '0.01', max: '1000', step: 'any', value: this.beta });
    const run = async () => {
      this.beta = Number(field.value);
      fill(this.parts.comparison, el('p', { class: 'notes' }, 'Solving the theory …'));
      try {
        const found = await Promise.all(this.details.filter((one) => one.overview.kind === 'simulate').map(async (one) => {
          const name = one.name.split('/').map(encodeURIComponent).join('/');
          return { run: one, ...await get(`compare ${one.name}`, `/api/run/${name}?compare=${this.beta}`) };
        }));
        this.drawComparison(found);
      } catch (error) {
        if (!isSuperseded(error)) fill(this.parts.comparison, el('p', { class: 'bad' }, error.message));
      }
    };
    return el('form', { class: 'filter', 'aria-label': 'Theory beside simulation', onsubmit: (event) => { event.preventDefault(); run(); } },
      el('div', {}, el('label', { for: 'theory-beta' }, 'β of the theory for gradient learners'), field),
      el('button', {}, 'Compare with the theory'));
  }

  drawComparison(found) {
    const heads = ['Case', 'Theory', 'After task', 'Quantity', 'Theory’s value', 'Simulation', 'Standard error', 'z'];
    const rows = [];
    const reasons = [];
    for (const { run, results, comparison } of found) {
      (comparison ?? []).forEach((entry, i) => {
        const label = [this.details.length > 1 ? run.name : '', results.cases[i].label].filter(Boolean).join(': ') || run.name;
        if (entry.reason) reasons.push(el('p', { class: 'bad' }, `${label}: ${entry.reason}`));
        for (const row of entry.rows ?? []) {
          const z = el('td', { class: Math.abs(row.z ?? 0) > 3 ? 'big' : false }, short(row.z, 3));
          rows.push(el('tr', {}, el('th', { scope: 'row' }, label), el('td', {}, row.against), el('td', {}, String(row.task)),
            el('td', {}, row.quantity), el('td', {}, short(row.theory, 6)), el('td', {}, short(row.simulation, 6)),
            el('td', {}, short(row.standard_error, 3)), z));
        }
      });
    }
    fill(this.parts.comparison, reasons, rows.length > 0
      ? el('div', { class: 'list', tabindex: '0', role: 'region', 'aria-label': 'Theory beside simulation' }, el('table', { id: 'z-scores' },
        el('thead', {}, el('tr', {}, heads.map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, rows)))
      : null);
  }

  drawFiles() {
    const links = this.details.flatMap((run) => run.files.map((file) => {
      const path = [...run.name.split('/'), file].map(encodeURIComponent).join('/');
      return el('li', {}, el('a', { href: `/files/${path}`, target: '_blank', rel: 'noopener' }, `${run.name}/${file}`));
    }));
    fill(this.parts.files, links.length > 0 ? [el('h3', {}, 'Files'), el('ul', {}, links)] : []);
  }
}
