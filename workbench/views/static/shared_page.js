// One file, many conversations: a list, and the stage without Python behind it. Conversations lie compressed in the file,
// some together, and are unpacked when one of them is opened.
const packs = [...document.querySelectorAll("script[data-holds]")];
const picks = [...document.querySelectorAll("[data-pick]")];
const values = { record: null, now: {} }, calls = [];
const unpacked = new Map();
let mounted = false;

// Drawings are packed as text; here they become addresses again, as they are on every other page.
function drawn(key, value) {
  if (key !== "src" || typeof value !== "string" || value.startsWith("data:")) return value;
  const letters = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte));
  return `data:image/svg+xml;base64,${btoa(letters.join(""))}`;
}
function unpack(pack) {
  if (!unpacked.has(pack)) {
    const bytes = Uint8Array.from(atob(pack.textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(pack, new Response(stream).text().then((text) => JSON.parse(text, drawn)));
  }
  return unpacked.get(pack);
}
async function open(number, strip = 0, turn = 0) {
  const pack = packs.find((each) => each.dataset.holds.split(" ").includes(number));
  if (!pack) return;
  const record = (await unpack(pack))[number];
  values.record = record;
  values.now = { strip, turn };
  for (const each of picks) each.setAttribute("aria-pressed", String(each.dataset.pick === number));
  if (mounted) for (const call of calls) call();
  else stage(document.getElementById("stage"), { get: (name) => values[name], on: (name, call) => name === "record" && calls.push(call) });
  mounted = true;
  document.body.dataset.open = number;
}
for (const each of picks) {
  each.addEventListener("click", () => {
    history.replaceState(null, "", `#${each.dataset.pick}`);
    open(each.dataset.pick, 0, 1);
  });
}
const search = document.getElementById("sp-search"), counter = document.getElementById("sp-count");
if (search) {
  const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_.+−]+/u).filter(Boolean);
  const said = new Map(picks.map((each) => [each, wordsOf([...each.children].map((part) => part.textContent).join(" "))]));
  const fits = (word, other) => (/^\d+$/.test(word) ? other === word : other.startsWith(word)); // "7" is not 70
  // "user 2" and "8 discovered" are said together: a number belongs to the word before or after it.
  const together = (words) => words.slice(1).flatMap((word, at) => {
    const pair = [words[at], word];
    if (!pair.some((each) => /^\d+$/.test(each))) return [];
    const stands = (each) => said.get(each).some((other, place) => fits(pair[0], other) && fits(word, said.get(each)[place + 1] ?? ""));
    return picks.some(stands) ? [stands] : [];
  });
  const filter = () => {
    const words = wordsOf(search.value), pairs = together(words);
    for (const each of picks)
      each.hidden = !words.every((word) => said.get(each).some((other) => fits(word, other))) || !pairs.every((stands) => stands(each));
    const shown = picks.filter((each) => !each.hidden).length;
    counter.textContent = `${shown} of ${picks.length} conversations`;
  };
  search.addEventListener("input", filter);
  const order = document.getElementById("sp-order"), list = picks[0].parentElement;
  const numberIn = (each, pattern) => Number((each.textContent.match(pattern) || [0, "0"])[1].replace("−", "-"));
  const worth = { discovered: /\+(\d+) discovered/, reward: /reward ([+−-]?[\d.]+)/ };
  order.addEventListener("change", () => {
    const by = worth[order.value];
    list.prepend(...(by ? [...picks].sort((one, other) => numberIn(other, by) - numberIn(one, by)) : picks));
  });
  filter();
}
// The address: the conversation's number, its line and its turn, as in #17.0.3
const place = document.getElementById("stage").dataset.first;
const [number, ...at] = (/^#\d+(\.\d+){0,2}$/.test(location.hash) ? location.hash.slice(1) : place).split(".");
open(number, ...at.map(Number));
for (const each of document.querySelectorAll(".dl-scroll")) each.tabIndex = 0; // wide tables are scrolled by keyboard, too
