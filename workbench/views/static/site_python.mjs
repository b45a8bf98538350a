// Python with the library of a site, wherever there is JavaScript: in the page's worker, or in Node for the tests.
// `read` returns the bytes of a file of the site; `wheels` are the names of those in python/.
export async function startPython(loadPyodide, read, wheels, indexURL, say = () => {}) {
  const python = await loadPyodide({ indexURL });
  say("Python is unpacking the library.");
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  const unpack = async (file, format, extractDir) => python.unpackArchive(await read(file), format, { extractDir });
  await unpack("python/dependencies.zip", "zip", packages);
  for (const wheel of wheels) await unpack(`python/${wheel}`, "whl", packages);
  await unpack("python/parsed.zip", "zip", packages);
  await unpack("python/data.zip", "zip", "/data");
  python.runPython(`
import os
os.environ["DISCOVER_DATA"], os.environ["DISCOVER_OUTPUTS"] = "/data", "/outputs"
`);
  say("Python is reading the library.");
  return python;
}
