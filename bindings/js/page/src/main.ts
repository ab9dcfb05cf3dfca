// The page: a header that tells of the chain, and below it whatever the address names. One screen lives
// at a time; it ends, with all it has asked, when the address changes.

import './style/base.css';
import './style/forms.css';
import './style/home.css';
import './style/milestones.css';
import './style/road.css';
import './style/panels.css';
import './style/config.css';

import { engine } from './engine';
import { replace } from './dom';
import { routeOf, type Route } from './route';
import { showChain } from './view/chain';
import { showConfig } from './view/config';
import { showHome } from './view/home';
import { showTransaction } from './view/transaction';

const main = document.querySelector<HTMLElement>('#main')!;
let leaving = new AbortController();
let isFirst = true;

function show(): void {
  leaving.abort();
  leaving = new AbortController();
  const route = routeOf(location.hash);
  replace(main);
  title(route);
  for (const link of document.querySelectorAll<HTMLAnchorElement>('nav a')) {
    const isHere = link.dataset['page'] === (route.page === 'config' ? 'config' : 'transaction');
    if (isHere) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  switch (route.page) {
    case 'home':
      showHome(main, leaving.signal);
      break;
    case 'transaction':
      showTransaction(main, route, leaving.signal);
      break;
    case 'config':
      showConfig(main, route, leaving.signal);
      break;
  }
  // Who comes by keyboard goes on in what is new; at the start the browser decides.
  if (!isFirst) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  isFirst = false;
}

function title(route: Route): void {
  const names = { home: '', transaction: 'Transaction · ', config: 'Configuration · ' };
  document.title = `${names[route.page]}Milepost`;
}

async function tellEngine(): Promise<void> {
  const line = document.querySelector('#engine')!;
  line.textContent = 'Loading the engine that checks requests in this page…';
  const loaded = await engine();
  line.textContent =
    loaded === null
      ? 'The engine is not in this page: requests are checked by the node alone.'
      : `Requests are checked and transactions decoded in this page, by the engine of Milepost ${loaded.version}.`;
}

// A skip link would change the address, and with it the screen.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', show);
showChain(document.querySelector('#chain')!);
show();
void tellEngine();
