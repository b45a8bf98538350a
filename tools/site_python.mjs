// Run a Python file in Node with the Python and the library of a built site: node tools/site_python.mjs SITE FILE [ARGUMENT ...]
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [site, file, ...given] = process.argv.slice(2);
const inside = (name) => pathToFileURL(path.resolve(site, name)).href;
const { loadPyodide } = await import(inside("pyodide/pyodide.mjs"));
const { startPython } = await import(inside("site_python.mjs"));
const read = (name) => new Uint8Array(fs.readFileSync(path.join(site, name))).buffer;
const python = await startPython(loadPyodide, read, path.resolve(site, "pyodide") + path.sep);
python.globals.set("given", python.toPy([file, ...given]));
python.runPython("import sys; sys.argv = list(given)");
python.runPython(fs.readFileSync(file, "utf8"));
