// The page: which of its parts is shown.

import { follow, pages, state } from './state.js';
import * as model from './model.js';
import * as runs from './runs.js';
import * as theory from './theory.js';

const parts = { theory, runs, model };
const started = new Set();

function show({ page, parameters }) {
  for (const name of pages) {
    document.getElementById(`page-${name}`).hidden = name !== page;
    const link = document.querySelector(`nav a[data-page="${name}"]`);
    if (name === page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${page[0].toUpperCase()}${page.slice(1)} · Remanent explorer`;
  for (const name of pages) if (name !== page && started.has(name)) parts[name].hide?.();
  if (!started.has(page)) {
    started.add(page);
    parts[page].start(parameters);
  } else {
    parts[page].show(parameters);
  }
}

follow(show);
show(state());
