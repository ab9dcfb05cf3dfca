// The protocol configuration at a block, with a filter, or the differences between the
// configurations at two blocks. The route names the blocks.

import { copyButton, h, replace, type Child } from "../dom";
import { at, integer, text, type Json } from "../exact";
import { grouped, plain } from "../format";
import { changes, leaves, NAMED, paramsOf, valueText, type Change, type Leaf } from "../model/configs";
import { get, NodeError, protocolConfig, type RpcResponse } from "../rpc";
import { configFragment } from "../route";
import { jsonTree } from "./json";
import { problem } from "./problem";

export function showConfig(
  main: HTMLElement,
  route: { block: string; other: string | null },
  signal: AbortSignal,
): void {
  const result = h("div", { class: "result" }, h("p", { class: "loading", role: "status" }, "Loading…"));
  const lead =
    route.other === null
      ? "The configuration in force at a block."
      : "The differences between the configurations at two blocks.";
  replace(
    main,
    h(
      "div",
      { class: "config" },
      h("div", { class: "heading" }, h("h1", {}, "Protocol configuration"), h("p", { class: "lead" }, lead)),
      form(route),
      result,
    ),
  );
  void load(route, result, signal);
}

function form(route: { block: string; other: string | null }): HTMLElement {
  const field = (id: string, label: string, value: string, placeholder: string) =>
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      h("input", {
        id,
        name: id,
        type: "text",
        list: "blocks",
        value,
        placeholder,
        autocapitalize: "off",
        autocomplete: "off",
        spellcheck: "false",
      }),
    );
  const block = field("block", "Block", route.block, "final");
  const other = field("other", "Compare with", route.other ?? "", "nothing");
  const value = (field: HTMLElement) => field.querySelector("input")!.value.trim();
  const submit = (event: Event) => {
    event.preventDefault();
    location.hash = configFragment(value(block) || "final", value(other) || null);
  };
  const swap = h("button", { type: "button", class: "quiet", "aria-label": "Swap the blocks" }, "⇄");
  swap.addEventListener("click", () => {
    location.hash = configFragment(value(other) || "final", value(block) || null);
  });
  const examples: [string, string][] = [
    ["Now", configFragment("final", null)],
    ["Genesis", configFragment("genesis", null)],
    ["Genesis to now", configFragment("genesis", "final")],
  ];
  return h(
    "div",
    { class: "config-form" },
    h(
      "form",
      { class: "find", novalidate: true, onsubmit: submit },
      block,
      other,
      swap,
      h("button", { type: "submit", class: "primary" }, "Show"),
      h(
        "datalist",
        { id: "blocks" },
        NAMED.map((name) => h("option", { value: name })),
      ),
    ),
    h(
      "p",
      { class: "examples" },
      "A height, a hash, or a name such as final or genesis. ",
      examples.flatMap(([name, href]) => [h("a", { href }, name), " "]),
    ),
  );
}

async function load(
  route: { block: string; other: string | null },
  result: HTMLElement,
  signal: AbortSignal,
): Promise<void> {
  try {
    const blocks = route.other === null ? [route.block] : [route.block, route.other];
    const [first, second] = await Promise.all(blocks.map((block) => protocolConfig(paramsOf(block), signal)));
    if (signal.aborted || first === undefined) return;
    replace(result, ...(second === undefined ? browse(first) : compare(route, first, second)));
  } catch (error) {
    const advice = await missing(error, signal).catch(() => null);
    if (signal.aborted) return;
    replace(result, problem("No configuration", error, advice !== null && h("p", { class: "advice" }, advice)));
  }
}

/** What the node lacks, so that there is no configuration; `null` if that is not the matter */
async function missing(error: unknown, signal: AbortSignal): Promise<string | null> {
  if (!(error instanceof NodeError) || error.cause === "UNREACHABLE") return null;
  const status = await get("/status", signal);
  const height = (name: string) => integer(at(status, name, "height"));
  const [earliest, head] = [height("earliest"), height("head")];
  if (text(at(status, "chain_id")) === null) {
    return "This node has no protocol configuration, because blocks do not contain it. Start it with “--configs DIRECTORY”, or with “--upstream URL” of a node that has it.";
  }
  if (head === null) return "This node has no block yet.";
  if (error.cause !== "UNKNOWN_BLOCK") return null;
  return `This node has blocks ${earliest ?? head} to ${head}. The chain may have skipped some of these heights.`;
}

function browse(response: RpcResponse): Child[] {
  const all = leaves(response.result);
  const tree = jsonTree(response.result, 1);
  const matches = h("div", { class: "matches", hidden: true });
  const count = h("p", { class: "count", role: "status" }, `${all.length} values`);
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "gas, account, 0.8…",
    autocomplete: "off",
    spellcheck: "false",
  });
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase().replace(/\s+/g, "_");
    const hits = wanted === "" ? [] : all.filter((leaf) => contains(leaf, wanted));
    tree.hidden = wanted !== "";
    matches.hidden = wanted === "";
    replace(
      matches,
      hits.length === 0
        ? h("p", { class: "empty" }, "No name or value matches.")
        : h(
            "dl",
            { class: "leaves" },
            hits.flatMap((leaf) => [h("dt", {}, ...path(leaf.path)), h("dd", {}, value(leaf))]),
          ),
    );
    replace(count, wanted === "" ? `${all.length} values` : `${hits.length} of ${all.length} values`);
  });
  return [
    headline(response.result),
    h(
      "section",
      { class: "panel", "aria-label": "Values" },
      h(
        "div",
        { class: "bar" },
        h("div", { class: "field" }, h("label", { for: "filter" }, "Filter"), filter),
        count,
        copyButton("the response", () => response.body),
      ),
      tree,
      matches,
    ),
  ];
}

function contains(leaf: Leaf, wanted: string): boolean {
  return leaf.path.toLowerCase().includes(wanted) || valueText(leaf.value).toLowerCase().includes(wanted);
}

function headline(config: Json): HTMLElement {
  const entry = (name: string, value: string) => h("div", {}, h("dt", {}, name), h("dd", {}, ...grouped(plain(value))));
  return h(
    "dl",
    { class: "headline" },
    entry("Chain", text(at(config, "chain_id")) ?? "?"),
    entry("Protocol version", valueText(at(config, "protocol_version"))),
    entry("Epoch length", valueText(at(config, "epoch_length"))),
    entry("Genesis height", valueText(at(config, "genesis_height"))),
  );
}

function compare(route: { block: string; other: string | null }, before: RpcResponse, after: RpcResponse): Child[] {
  const differences = changes(before.result, after.result);
  const version = (response: RpcResponse) => valueText(at(response.result, "protocol_version"));
  const count = differences.length === 1 ? "1 value differs" : `${differences.length} values differ`;
  if (differences.length === 0) {
    return [
      h(
        "p",
        { class: "empty", role: "status" },
        `Both blocks have the same configuration, that of protocol version ${version(before)}.`,
      ),
    ];
  }
  const heading = (block: string, response: RpcResponse) =>
    h("th", { scope: "col" }, plain(block), h("small", {}, `protocol version ${version(response)}`));
  return [
    h(
      "section",
      { class: "panel", "aria-label": "Changes" },
      h("p", { class: "count", role: "status" }, count),
      h(
        "table",
        { class: "changes" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Value"),
            heading(route.block, before),
            heading(route.other ?? "", after),
          ),
        ),
        h("tbody", {}, differences.map(row)),
      ),
    ),
  ];
}

function row(change: Change): HTMLElement {
  const cell = (leaf: Leaf | null, kind: string) =>
    h("td", { class: leaf === null ? "is-absent" : kind }, leaf === null ? "absent" : value(leaf));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, ...path(change.path)),
    cell(change.before, "before"),
    cell(change.after, "after"),
  );
}

function value(leaf: Leaf): HTMLElement {
  const text = valueText(leaf.value);
  const digits = /^"?(\d{5,})"?$/.exec(text)?.[1];
  if (digits === undefined) return h("span", { class: "value" }, plain(text));
  const quote = text.startsWith('"') && '"';
  return h("span", { class: "value" }, quote, ...grouped(digits), quote);
}

/** A path that may break after its dots, with its last name emphasized */
function path(text: string): Child[] {
  const names = text.split(".");
  const last = names.pop() ?? "";
  return [
    ...names.flatMap((name) => [h("span", { class: "soft" }, `${plain(name)}.`), h("wbr")]),
    h("span", { class: "last" }, plain(last)),
  ];
}
