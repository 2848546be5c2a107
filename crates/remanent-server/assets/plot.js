// Curves by uPlot, with marks, a description, and the numbers as a table.

import uPlot from './vendor/uPlot.esm.js';
import { el, fill, short } from './dom.js';

/** Colours that the colour-blind tell apart (Okabe and Ito), by order; dashes tell them apart as well. */
const LIGHT = ['#0072b2', '#d55e00', '#007a5a', '#a8508a', '#8a5a00', '#3a6ea5', '#5b5b5b'];
const DARK = ['#56b4e9', '#f0803c', '#2fc79a', '#e29bc6', '#e6b422', '#9cc3ff', '#c8c8c8'];
const WHOLE = [1, 2, 5].flatMap((n) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((power) => n * power)).sort((a, b) => a - b);
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [4, 4], [1, 4]];

const dark = matchMedia('(prefers-color-scheme: dark)');
const charts = new Set();

export function colour(index) {
  return (dark.matches && !isPrinting() ? DARK : LIGHT)[index % LIGHT.length];
}

function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function redrawAll() {
  for (const chart of charts) chart.redraw();
}

dark.addEventListener('change', redrawAll);

/** Pixels of a plot on paper: the width of A4 within its margins. */
const PAPER = 680;
const print = matchMedia('print');

function isPrinting() {
  return document.documentElement.classList.contains('printing');
}

/** Draws for paper, or for the screen again. Canvases do not follow the style sheet. */
function setPrinting(isPrinting) {
  document.documentElement.classList.toggle('printing', isPrinting);
  redrawAll();
}

window.addEventListener('beforeprint', () => setPrinting(true));
window.addEventListener('afterprint', () => setPrinting(print.matches));
print.addEventListener('change', () => setPrinting(print.matches));

/**
 * A chart in an element. `draw` takes curves, each a function of x:
 * { label, points: [[x, y], …], colour, dash, dots, thin }, and marks:
 * { x, y, label, colour } (a point), or { x, label } (a vertical line).
 */
export class Chart {
  constructor(host, { x, y, logY = false, height = 300, name, isWhole = false, shownX }) {
    // `isWhole`: x is a whole number; `shownX`: the text of a value of x.
    Object.assign(this, { host, x, y, logY, height, name, isWhole, shownX, curves: [], marks: [] });
    this.box = el('div', { class: 'chart', role: 'img', 'aria-label': name });
    this.legend = el('ul', { class: 'legend' });
    this.table = el('details', { class: 'numbers' }, el('summary', {}, 'Numbers'));
    host.append(this.box, this.legend, this.table);
    this.table.addEventListener('toggle', () => this.tabulate());
    new ResizeObserver(() => this.resize()).observe(this.box);
    charts.add(this);
  }

  draw(curves, marks = [], description = '') {
    this.curves = curves.filter((curve) => curve.points.some(([, y]) => Number.isFinite(y)));
    this.marks = marks.filter((mark) => Number.isFinite(mark.x));
    this.box.setAttribute('aria-label', description ? `${this.name}. ${description}` : this.name);
    this.box.dataset.version = String(Number(this.box.dataset.version ?? 0) + 1);
    this.redraw();
    if (this.table.open) this.tabulate();
  }

  redraw() {
    const xs = [...new Set(this.curves.flatMap((curve) => curve.points.map(([x]) => x)))].sort((a, b) => a - b);
    const place = new Map(xs.map((x, i) => [x, i]));
    const data = [xs];
    const series = [{ label: this.x }];
    this.curves.forEach((curve, i) => {
      const values = new Array(xs.length).fill(null);
      for (const [x, y] of curve.points) {
        if (Number.isFinite(y) && !(this.logY && y <= 0)) values[place.get(x)] = y;
      }
      data.push(values);
      const index = curve.colour ?? i;
      series.push({
        label: curve.label,
        stroke: colour(index),
        width: curve.thin ? 1 : 2,
        dash: curve.dash ?? DASHES[index % DASHES.length],
        spanGaps: true,
        points: { show: curve.dots ?? false, size: 6, fill: colour(index) },
      });
    });
    this.plot?.destroy();
    if (xs.length === 0) {
      this.plot = undefined;
      fill(this.legend);
      return;
    }
    const line = theme('--line');
    const ink = theme('--ink');
    const axis = (label, size) => ({
      label, stroke: ink, size, labelSize: 22, labelFont: '13px system-ui, sans-serif',
      font: '12px system-ui, sans-serif', grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 },
    });
    this.plot = new uPlot({
      width: isPrinting() ? PAPER : Math.max(this.box.clientWidth, 200),
      height: this.height,
      legend: { show: false },
      pxAlign: 0,
      cursor: { y: false, points: { size: 7 } },
      scales: {
        x: { time: false },
        y: { distr: this.logY ? 3 : 1, range: this.logY ? undefined : (u, low, high) => range(low, high) },
      },
      axes: [
        { ...axis(this.x, 44), ...(this.isWhole || this.shownX ? { incrs: WHOLE } : {}),
          ...(this.shownX ? { values: (u, all) => all.map(this.shownX) } : {}) },
        axis(this.y, 58),
      ],
      series,
      hooks: { draw: [(u) => this.drawMarks(u)], setCursor: [(u) => this.readOut(u)] },
    }, data, this.box);
    this.showLegend(null);
  }

  showLegend(index) {
    const value = (curve, i) => {
      if (index === null || !this.plot) return '';
      const y = this.plot.data[i + 1][index];
      return y === null || y === undefined ? '' : ` ${short(y)}`;
    };
    const entry = (curve, i) => {
      const swatch = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      swatch.setAttribute('viewBox', '0 0 28 8');
      swatch.setAttribute('aria-hidden', 'true');
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'line');
      const index = curve.colour ?? i;
      const attributes = { x1: 0, x2: 28, y1: 4, y2: 4, stroke: colour(index), 'stroke-width': 3,
        'stroke-dasharray': (curve.dash ?? DASHES[index % DASHES.length]).join(' ') || 'none' };
      for (const [key, v] of Object.entries(attributes)) path.setAttribute(key, v);
      swatch.append(path);
      return el('li', {}, swatch, ` ${curve.label}`, el('b', {}, value(curve, i)));
    };
    const x = index === null ? [] : [el('li', { class: 'at' }, `${this.x} ${(this.shownX ?? short)(this.plot.data[0][index])}`)];
    fill(this.legend, ...this.curves.map(entry), ...x);
  }

  readOut(u) {
    const index = u.cursor.idx;
    if (index !== this.shownIndex) {
      this.shownIndex = index;
      this.showLegend(index ?? null);
    }
  }

  drawMarks(u) {
    const { ctx, bbox } = u;
    const scale = devicePixelRatio || 1;
    ctx.save();
    ctx.font = `${12 * scale}px system-ui, sans-serif`;
    ctx.setLineDash([]);
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    let row = 0;
    const taken = [];
    for (const mark of this.marks) {
      const x = u.valToPos(mark.x, 'x', true);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      const ink = mark.colour === undefined ? theme('--ink') : colour(mark.colour);
      ctx.strokeStyle = ink;
      ctx.fillStyle = ink;
      ctx.lineWidth = 1.5 * scale;
      const isPoint = Number.isFinite(mark.y) && !(this.logY && mark.y <= 0);
      if (isPoint) {
        const y = u.valToPos(mark.y, 'y', true);
        ctx.beginPath();
        ctx.arc(x, y, (mark.size ?? 4.5) * scale, 0, 2 * Math.PI);
        if (mark.hollow) ctx.stroke();
        else ctx.fill();
      } else {
        ctx.setLineDash([4 * scale, 4 * scale]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.setLineDash([]);
      }
      if (mark.label) {
        // Labels of neighbouring lines go below one another.
        const width = ctx.measureText(mark.label).width;
        const left = x + width + 8 * scale > bbox.left + bbox.width ? x - width - 6 * scale : x + 6 * scale;
        let y = isPoint ? u.valToPos(mark.y, 'y', true) - 8 * scale : bbox.top + (14 + 15 * row++) * scale;
        const isTaken = () => taken.some(([x, other, w]) => Math.abs(other - y) < 13 * scale && left < x + w && x < left + width);
        while (isTaken() && y > bbox.top + 14 * scale) y -= 14 * scale;
        y = Math.max(y, bbox.top + 12 * scale);
        taken.push([left, y, width]);
        ctx.fillStyle = theme('--ink');
        ctx.fillText(mark.label, left, y);
      }
    }
    ctx.restore();
  }

  resize() {
    if (isPrinting()) return;
    const width = this.box.clientWidth;
    if (this.plot && width > 0 && Math.abs(this.plot.width - width) > 2) {
      this.plot.setSize({ width, height: this.height });
    } else if (!this.plot && width > 0 && this.curves.length > 0) {
      this.redraw();
    }
  }

  tabulate() {
    if (!this.table.open) return;
    const rows = this.curves.flatMap((curve) => curve.points.map(([x, y]) => [curve.label, x, y]));
    const cells = (row) => el('tr', {}, row.map((value, i) => el(i ? 'td' : 'th', i ? {} : { scope: 'row' },
      typeof value === 'number' ? short(value, 6) : value ?? '–')));
    const head = ['curve', this.x, this.y].map((text) => el('th', { scope: 'col' }, text));
    const shown = rows.slice(0, 400).map(cells);
    fill(this.table, el('summary', {}, 'Numbers'),
      el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Numbers: ${this.name}` },
        el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, shown))));
  }

  remove() {
    this.plot?.destroy();
    charts.delete(this);
  }
}

function range(low, high) {
  if (low === null || high === null) return [0, 1];
  const room = 0.06 * Math.max(high - low, 1e-9 + 0.01 * Math.abs(high));
  return [low >= 0 && low < 0.3 * high ? 0 : low - room, high + room];
}
