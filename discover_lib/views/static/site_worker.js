// Python behind the page: Pyodide with the library's wheel, and one host that answers for all widgets.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const say = (step) => postMessage({ step });
async function archive(python, path, format, extractDir) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  python.unpackArchive(await answer.arrayBuffer(), format, { extractDir });
}
async function start() {
  say("Python is on its way: 13 MB the first time.");
  const python = await loadPyodide({ indexURL: new URL("pyodide/", location.href).href });
  say("Python is unpacking the library.");
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  await archive(python, "python/dependencies.zip", "zip", packages);
  for (const wheel of self.name.split(" ")) await archive(python, `python/${wheel}`, "whl", packages);
  await archive(python, "python/data.zip", "zip", "/data");
  say("Python is reading the library.");
  python.globals.set("post", (name, values) => postMessage({ name, values }));
  const host = python.runPython(`
import os
from pathlib import Path
os.environ["DISCOVER_DATA"], os.environ["DISCOVER_OUTPUTS"] = "/data", "/outputs"
from discover_lib.app.site.host import Host
Host(post, Path("/data"))
`);
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
