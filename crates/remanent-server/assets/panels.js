// The panels of the theory. Each knows its question, asks it roughly while a slider moves and fully when the
// hand rests, and gives the command, the Python call, the table and the picture of what it shows.

import { cancel, get, getText, isSuperseded, question } from './api.js';
import { copy, el, fill, short } from './dom.js';
import { Chart } from './plot.js';
import { link } from './state.js';

/** Milliseconds without a change after which the full question is asked. */
const REST = 300;
/** The same for a panel that is not to be seen. */
const LATER = 5000;

/** γ of the first look, and of the search for the best one. */
const FEW_GAMMAS = [0, 0.1, 1, 10];
const GAMMAS = [0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10];
const FEW_BETAS = '8,12,13,14,16,20,28,45';

const COLOURS = { only: 0, poor: 1, middle: 6, good: 0 };
const NAMES = { only: 'only branch', poor: 'poor branch', middle: 'middle branch (unstable)', good: 'good branch' };

/** A parameter on the command line. */
function flags(parameters) {
  const flag = ([key, value]) => (key === 'scan' ? value.map((scan) => ` --scan ${scan}`).join('')
    : ` --${key.replaceAll('_', '-')} ${value}`);
  return Object.entries(parameters).map(flag).join('');
}

/** A value in Python. */
function python(value) {
  const text = String(value);
  const isNumber = (part) => part !== '' && Number.isFinite(Number(part));
  const parts = text.split(',');
  if (parts.length > 1 && parts.every(isNumber)) return `[${parts.join(', ')}]`;
  return isNumber(text) ? text : `"${text}"`;
}

function call(ask, parameters) {
  const list = Object.entries(parameters).map(([key, value]) => `${key}=${python(value)}`);
  return `import remanent as rm\n\nresult = rm.theory.${ask.replaceAll('-', '_')}(${list.join(', ')})\n`;
}

class Panel {
  constructor(id, title, follows, options) {
    Object.assign(this, { id, title, follows, options, isVisible: false, values: null, asked: null });
  }

  build() {
    const button = (text, what, make) => el('button', {
      type: 'button', 'aria-label': `${text}: copy ${what} of ${this.title}`,
      onclick: async () => {
        try {
          await copy(await make(), `${what} of “${this.title}”`);
        } catch (error) {
          if (!isSuperseded(error)) this.say(error.message);
        }
      },
    }, text);
    const written = (format) => getText(`${this.id}-copy`, question(...this.question(this.values), { format }));
    this.busy = el('span', { class: 'busy', 'aria-hidden': 'true' });
    this.notes = el('div', { class: 'notes' });
    this.element = el('article', { class: 'panel', id: `panel-${this.id}`, 'aria-labelledby': `t-${this.id}` },
      el('header', {},
        el('h3', { id: `t-${this.id}` }, this.title, this.busy),
        el('div', { class: 'copy', role: 'group', 'aria-label': `Copy from ${this.title}` }, el('span', {}, 'Copy'),
          button('Command', 'the command line', () => `remanent theory ${this.command()}`),
          button('Python', 'the Python call', () => call(...this.question(this.values))),
          button('CSV', 'the table', () => written('csv')),
          button('SVG', 'the picture', () => written('svg')),
          button('Link', 'the address', () => link()))));
    this.chart = new Chart(this.element, { name: this.title, ...this.options });
    this.element.append(this.notes);
    new IntersectionObserver((entries) => {
      const isVisible = entries.at(-1).isIntersecting;
      if (isVisible && !this.isVisible) {
        this.isVisible = true;
        if (this.values) this.update(this.values);
      }
      this.isVisible = isVisible;
    }, { rootMargin: '100px' }).observe(this.element);
    return this.element;
  }

  command() {
    const [ask, parameters] = this.question(this.values);
    return `${ask}${flags(parameters)}`;
  }

  say(...texts) {
    const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
    fill(this.notes, texts.map((text) => el('p', {}, sentence(text))));
  }

  /** Asks for what the values mean, if it is to be seen. */
  update(values) {
    this.values = structuredClone(values);
    clearTimeout(this.later);
    if (!this.isVisible) {
      // What is not to be seen is computed when everything else is done: somebody may print the page.
      this.later = setTimeout(() => this.ask(), LATER);
      return;
    }
    this.ask();
  }

  ask() {
    const { values } = this;
    this.chart.logY = values.scale === 'log' && this.options.y.startsWith('ε');
    const wanted = JSON.stringify(this.question(values));
    if (wanted === this.asked) {
      // Only what is drawn into the answer has changed.
      if (this.answer) this.draw(this.answer, this.isFull);
      return;
    }
    this.asked = wanted;
    const started = performance.now();
    clearTimeout(this.timer);
    cancel(`${this.id}-full`);
    this.busy.classList.add('on');
    this.run(`${this.id}-first`, this.first(this.values), (answer) => {
      this.element.dataset.milliseconds = String(Math.round(performance.now() - started));
      this.take(answer, false);
    });
    this.timer = setTimeout(() => {
      const [ask, parameters] = this.question(this.values);
      const path = question(ask, parameters, { format: 'full' });
      this.run(`${this.id}-full`, path, ({ answer, notes }) => {
        cancel(`${this.id}-first`);
        this.take(answer, true);
        this.say(...this.remarks(answer), ...notes);
        this.busy.classList.remove('on');
        this.element.dataset.complete = wanted;
      });
    }, REST);
  }

  async run(slot, path, use) {
    if (!path) return;
    try {
      use(await get(slot, path));
    } catch (error) {
      if (isSuperseded(error)) return;
      this.busy.classList.remove('on');
      this.asked = null;
      this.say(error.message);
    }
  }

  take(answer, isFull) {
    Object.assign(this, { answer, isFull });
    this.draw(answer, isFull);
  }

  remarks() {
    return [];
  }
}

/** ε(α) with every branch. */
class Branches extends Panel {
  constructor() {
    super('branches', 'One task: error and branches', ['beta', 'prior', 'rsb', 'alpha', 'scale'],
      { x: 'α', y: 'ε', height: 320 });
  }

  question({ beta, prior, rsb, high }) {
    return ['branches', { beta, alpha: `0.05:${high}`, ...(prior === 'none' ? {} : { prior }), ...(rsb === '1' ? { rsb } : {}) }];
  }

  /** The stable solution with broken symmetry at `count` values of α: rough beside the whole curve of one step, and all there
   * is if the number of steps is to be found. */
  points({ beta, prior, rsb, high }, count) {
    const alpha = Array.from({ length: count }, (_, i) => Number((0.05 + (high - 0.05) * (i + 1) / count).toPrecision(4)));
    return question('single', { alpha: alpha.join(','), beta, ...(prior === 'none' ? {} : { prior }), rsb });
  }

  update(values) {
    const wanted = JSON.stringify([values.beta, values.prior, values.rsb, values.high]);
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.broken = null;
      clearTimeout(this.breaking);
      cancel('branches-broken');
      if (values.rsb !== '0') this.breaking = setTimeout(() => this.askBroken(structuredClone(values), wanted), REST);
    }
    super.update(values);
  }

  async askBroken(values, wanted) {
    for (const count of values.rsb === 'auto' ? [8, 30] : [8]) {
      await this.run('branches-broken', this.points(values, count), (rows) => {
        if (wanted !== this.wanted) return;
        this.broken = rows;
        if (this.answer) this.draw(this.answer, this.isFull);
      });
    }
  }

  first(values) {
    const [ask, parameters] = this.question({ ...values, rsb: '0' });
    return question(ask, parameters, { detail: 'outline' });
  }

  draw(found, isFull) {
    const names = ['only', 'poor', 'middle', 'good'];
    const curves = names.map((branch) => ({
      label: NAMES[branch], colour: COLOURS[branch], dash: branch === 'middle' ? [2, 3] : branch === 'poor' ? [8, 4] : [],
      points: found.rows.filter((row) => row.branch === branch && row.eps !== null).map((row) => [row.alpha, row.eps]),
    }));
    const broken = found.broken?.rows ?? this.broken;
    if (broken) {
      curves.push({ label: this.values.rsb === 'auto' ? 'broken symmetry, steps as needed' : 'one step of breaking', colour: 3,
        dash: [10, 3, 2, 3], dots: !found.broken,
        points: broken.filter((row) => row.eps !== null && row.rsb > 0).map((row) => [row.alpha, row.eps]) });
    }
    const marks = found.folds.map((fold) => ({ x: fold.alpha, y: fold.solution.eps, label: 'fold', colour: 6 }));
    if (found.crossing) marks.push({ x: found.crossing.alpha, label: 'crossing' });
    for (const zero of found.replicon_zeros) {
      marks.push({ x: zero.alpha, y: zero.solution.eps, label: 'replicon 0', colour: 3, hollow: true });
    }
    const alpha = this.values.alpha[0];
    marks.push({ x: alpha, label: `α = ${short(alpha)}` });
    const rows = found.rows.filter((row) => row.eps !== null).length;
    this.chart.draw(curves, marks, `${isFull ? '' : 'Sketch. '}${rows} solutions, ${found.folds.length} folds at β = ${this.values.beta}.`);
  }

  remarks(found) {
    const parts = [];
    if (found.folds.length > 0) parts.push(`folds at α = ${found.folds.map((fold) => short(fold.alpha, 6)).join(' and ')}`);
    if (found.crossing) parts.push(`−βf crosses at α = ${short(found.crossing.alpha, 6)}`);
    if (found.replicon_zeros.length > 0) {
      parts.push(`the replicon vanishes at α = ${found.replicon_zeros.map((zero) => `${short(zero.alpha, 6)} (${zero.branch})`).join(', ')}`);
    }
    return [parts.join('; ') || 'There is one branch: no folds, no crossing.'];
  }
}

/** The parameters of a chain. */
function chain({ alpha, beta, r0, branch, prior }) {
  return { alpha: alpha.join(','), beta, r0, ...(branch === 'stable' ? {} : { branch }), ...(prior === 'none' ? {} : { prior }) };
}

/** Errors on all tasks after each task. */
class Chain extends Panel {
  constructor() {
    super('chain', 'Chain of tasks: error after each task',
      ['alpha', 'beta', 'gamma', 'r0', 'branch', 'prior', 'rsb', 'scale'],
      { x: 'after task', y: 'ε', height: 320, isWhole: true });
  }

  question(values) {
    // A chain takes one step of breaking at most.
    const rsb = values.rsb !== '0' && values.alpha.length <= 6 ? { rsb: '1' } : {};
    return ['chain', { ...chain(values), gamma: values.gamma, ...rsb }];
  }

  first(values) {
    return question(...this.question({ ...values, rsb: '0' }), { detail: 'outline' });
  }

  take(answer, isFull) {
    // The first answer has replica symmetry; it is drawn beside one without.
    if (!isFull) this.symmetric = answer;
    super.take(answer, isFull);
  }

  draw(found, isFull) {
    const tasks = found.tasks;
    const errors = (all, k) => all.filter((task) => task.task > k && task.eps_by_task[k] !== undefined && task.eps_by_task[k] !== null)
      .map((task) => [task.task, task.eps_by_task[k]]);
    const curves = tasks.map((_, k) => ({ label: `task ${k + 1}`, dots: true, points: errors(tasks, k) }));
    const isBroken = isFull && JSON.parse(this.asked ?? '[]')[1]?.rsb !== undefined;
    if (isBroken && this.symmetric?.tasks.length === tasks.length) {
      curves.forEach((curve) => { curve.label += ', one step'; });
      tasks.forEach((_, k) => curves.push({ label: `task ${k + 1}, symmetric`, colour: k, thin: true, points: errors(this.symmetric.tasks, k) }));
    }
    const last = tasks.at(-1);
    const ends = last ? last.eps_by_task.map((eps, k) => `task ${k + 1}: ${short(eps)}`).join(', ') : '';
    this.chart.draw(curves, [], `At the end ${ends}.`);
  }

  remarks(found) {
    const last = found.tasks.at(-1);
    if (!last) return [];
    const errors = last.eps_by_task.map((eps, k) => `ε${k + 1} = ${short(eps, 6)}`).join(', ');
    return [`After task ${last.task}: ${errors}; q_d = ${short(last.q_d)}, q_0 = ${short(last.q_0)}, r = ${short(last.r)}, ${last.branch} branch.`];
  }
}

/** ε at the end against γ. */
class Tune extends Panel {
  constructor() {
    super('tune', 'Protection of old tasks: error against γ',
      ['alpha', 'beta', 'gamma', 'r0', 'branch', 'prior', 'objective', 'scale'], { x: 'γ', y: 'ε at the end', height: 320, shownX: (place) => (place <= -3 ? '0' : short(10 ** place, 3)) });
  }

  question(values) {
    return ['tune', { ...chain(values), objective: values.objective, gamma: GAMMAS.join(',') }];
  }

  first(values) {
    if (values.alpha.length < 2) return null;
    return question('chain', { ...chain(values), scan: [`gamma=${FEW_GAMMAS.join(',')}`] }, { detail: 'outline' });
  }

  update(values) {
    if (values.alpha.length < 2) {
      this.values = structuredClone(values);
      this.asked = null;
      this.answer = null;
      clearTimeout(this.timer);
      cancel(`${this.id}-first`);
      cancel(`${this.id}-full`);
      this.busy?.classList.remove('on');
      this.chart.draw([]);
      this.say('γ acts from the second task on: add a task.');
      return;
    }
    super.update(values);
  }

  draw(found) {
    // γ = 0 is drawn left of the smallest one.
    const place = (gamma) => Math.log10(Math.max(gamma, 1e-3));
    const points = found.curve
      ? found.curve.map((point) => ({ gamma: point.gamma, eps: point.eps_by_task }))
      : found.map((point) => ({ gamma: point.gamma ?? point.at?.gamma, eps: (point.tasks ?? point.chain.tasks).at(-1).eps_by_task }));
    const tasks = Math.max(...points.map((point) => point.eps.length));
    const curves = Array.from({ length: tasks }, (_, k) => ({
      label: `task ${k + 1}`, dots: true,
      points: points.filter((point) => point.eps[k] !== undefined && point.eps[k] !== null).map((point) => [place(point.gamma), point.eps[k]]),
    }));
    const mean = points.filter((point) => point.eps.length === tasks && point.eps.every((eps) => eps !== null));
    curves.push({ label: this.values.objective === 'max' ? 'largest' : 'mean', colour: 6, dash: [2, 3],
      points: mean.map((point) => [place(point.gamma), this.values.objective === 'max' ? Math.max(...point.eps) : point.eps.reduce((a, b) => a + b, 0) / tasks]) });
    const marks = [{ x: place(this.values.gamma), label: `γ = ${short(this.values.gamma)}` }];
    if (found.gamma !== undefined && found.gamma !== null && found.curve) {
      marks.push({ x: place(found.gamma), y: found.objective, label: `best γ = ${short(found.gamma)}`, colour: 2, size: 6 });
    }
    this.chart.draw(curves, marks);
  }

  remarks(found) {
    if (found.gamma === null) return ['No chain has an accurate solution.'];
    const edge = found.at_edge ? ', at the edge of the range' : '';
    return [`Recommended: γ = ${short(found.gamma, 5)}${edge}, ${found.kind} error ${short(found.objective, 5)}.`];
  }
}

/** The phase diagram with the present point. */
class Phases extends Panel {
  constructor() {
    super('phases', 'Phase diagram', ['beta', 'prior', 'alpha'], { x: 'β', y: 'α', height: 320 });
  }

  question({ prior }) {
    return ['phase-diagram', prior === 'none' ? {} : { prior }];
  }

  first(values) {
    const [ask, parameters] = this.question(values);
    return question(ask, parameters, { beta: FEW_BETAS });
  }

  draw(found) {
    const line = (label, colour, dash, of) => ({ label, colour, dash,
      points: found.rows.filter((row) => Number.isFinite(of(row))).map((row) => [row.beta, of(row)]) });
    const curves = [
      line('good branch begins', 0, [], (row) => row.good_from ?? NaN),
      line('crossing', 2, [8, 4], (row) => row.crossing ?? NaN),
      line('poor branch ends', 1, [10, 3, 2, 3], (row) => row.poor_until ?? row.corner ?? NaN),
    ];
    for (const [branch, colour] of [['poor', 3], ['only', 4], ['good', 5]]) {
      curves.push(line(`replicon 0, ${branch} branch`, colour, [2, 3],
        (row) => row.replicon_zeros.find((zero) => zero.branch === branch)?.alpha ?? NaN));
    }
    const { alpha, beta } = this.values;
    // Tasks with the same α are one point.
    const tasks = Map.groupBy(alpha.map((value, i) => [value, i + 1]), ([value]) => value);
    const marks = [...tasks].map(([value, all]) => ({ x: beta, y: value, colour: 6, size: 6,
      label: `${all.length > 1 ? 'tasks' : 'task'} ${all.map(([, task]) => task).join(', ')}` }));
    if (found.critical_point) {
      marks.push({ x: found.critical_point.beta, y: found.critical_point.alpha, label: 'critical point', colour: 0, hollow: true });
    }
    this.chart.draw(curves, marks, `The present point is α = ${alpha.join(', ')}, β = ${beta}.`);
  }

  remarks(found) {
    const point = found.critical_point;
    return point ? [`Critical point: α = ${short(point.alpha, 6)}, β = ${short(point.beta, 6)}.`] : [];
  }
}

export const panels = [new Branches(), new Chain(), new Tune(), new Phases()];
