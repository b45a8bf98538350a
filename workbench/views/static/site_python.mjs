// Python with the library of a site, wherever there is JavaScript: in the page's worker, or in Node for the tests.
// `read` returns the bytes of a file of the site.
export async function startPython(loadPyodide, read, indexURL, say = () => {}) {
  const python = await loadPyodide({ indexURL });
  say("Python is unpacking the library.");
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  const unpack = async (file, format, extractDir) => python.unpackArchive(await read(file), format, { extractDir });
  await unpack("python/packages.zip", "zip", packages);
  await unpack("python/compiled.whl", "whl", packages);
  await unpack("python/data.zip", "zip", "/data");
  python.runPython(`
import os
os.environ["DISCOVER_DATA"], os.environ["DISCOVER_OUTPUTS"] = "/data", "/outputs"
`);
  say("Python is reading the library.");
  return python;
}
