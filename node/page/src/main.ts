// The page: a header with the chain, and below it the screen of the route. There is one screen at a
// time; when the route changes its requests are aborted.

import "./style/base.css";
import "./style/forms.css";
import "./style/home.css";
import "./style/milestones.css";
import "./style/lifecycle.css";
import "./style/panels.css";
import "./style/config.css";

import { replace } from "./dom";
import { watchChain } from "./model/chain";
import { routeOf, type Route } from "./route";
import { showChain } from "./view/chain";
import { showConfig } from "./view/config";
import { searchForm } from "./view/find";
import { showHome } from "./view/home";
import { showNothing, showReceipt } from "./view/receipt";
import { showTransaction } from "./view/transaction";

const main = document.querySelector<HTMLElement>("#main")!;
const search = document.querySelector<HTMLElement>("#find")!;
let screen = new AbortController();
let isFirst = true;

function show(): void {
  screen.abort();
  screen = new AbortController();
  const route = routeOf(location.hash);
  replace(main);
  // The home screen has the large form.
  replace(search, route.page !== "home" && searchForm(screen.signal));
  title(route);
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    const isCurrent = link.dataset["page"] === pageOf(route);
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  switch (route.page) {
    case "home":
      showHome(main, screen.signal);
      break;
    case "transaction":
      showTransaction(main, route, screen.signal);
      break;
    case "receipt":
      void showReceipt(main, route.id, screen.signal);
      break;
    case "config":
      showConfig(main, route, screen.signal);
      break;
    case "nothing":
      showNothing(main, route.fragment);
      break;
  }
  // Moves the keyboard focus to the new screen, except when the page is loaded.
  if (!isFirst) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  isFirst = false;
}

/** The entry of the navigation that a route is under */
function pageOf({ page }: Route): string | undefined {
  return {
    home: "transaction",
    transaction: "transaction",
    receipt: "transaction",
    config: "config",
    nothing: undefined,
  }[page];
}

/** The title of the tab; the screen of a transaction adds how far it is */
function title(route: Route): void {
  const names: Record<Route["page"], string> = {
    home: "",
    transaction: "Transaction · ",
    receipt: "Receipt · ",
    config:
      route.page === "config" ? `Configuration ${[route.block, route.other].filter(Boolean).join(" to ")} · ` : "",
    nothing: "Nothing here · ",
  };
  document.title = `${names[route.page]}Milepost`;
}

// Following the skip link would change the fragment, and with it the screen.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

addEventListener("hashchange", show);
showChain(document.querySelector("#chain")!);
watchChain();
show();
