// Python behind a page: Pyodide with the library, and the page's model, whose name is the worker's.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { startPython } from "./site_python.mjs";

async function read(file) {
  const answer = await fetch(file);
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
  return answer.arrayBuffer();
}
async function start() {
  const say = (step) => postMessage({ step });
  say("Python is on its way: 13 MB the first time.");
  const python = await startPython(loadPyodide, read, new URL("pyodide/", location.href).href, say);
  python.globals.set("name", self.name);
  python.globals.set("post", (values) => postMessage({ values }));
  const model = python.runPython(`
from pathlib import Path
from workbench.site.host import open_page
open_page(name, post, Path("/data"))
`);
  postMessage({ ready: true });
  return model;
}
const model = start();
model.catch((error) => postMessage({ trouble: `Python did not start: ${error.message}` }));
onmessage = async ({ data }) => {
  try {
    (await model).receive(data);
  } catch (error) {
    postMessage({ trouble: String(error.message).trim().split("\n").pop() });
  }
};
