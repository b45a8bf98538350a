// Python behind the page: Pyodide with the library's wheel, and one host that answers for all widgets.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { startPython } from "./site_python.mjs";

async function read(file) {
  const answer = await fetch(file);
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
  return answer.arrayBuffer();
}
async function start() {
  const [model, ...wheels] = self.name.split(" ");
  const say = (step) => postMessage({ step });
  say("Python is on its way: 13 MB the first time.");
  const python = await startPython(loadPyodide, read, wheels, new URL("pyodide/", location.href).href, say);
  python.globals.set("post", (name, values) => postMessage({ name, values }));
  const host = python.runPython(`
from pathlib import Path
from discover_lib.app.site.host import Host
Host(post, Path("/data"))
`);
  host.receive(model, "{}"); // the page's own is made before anything is pressed
  postMessage({ ready: true });
  return host;
}
const host = start();
host.catch((error) => postMessage({ trouble: `Python did not start: ${error.message}` }));
onmessage = async ({ data }) => {
  try {
    (await host).receive(data.name, data.sent);
  } catch (error) {
    postMessage({ trouble: String(error.message).trim().split("\n").pop() });
  }
};
