// The Python of a page: one worker, which ends with the page or when it is stopped.
let python, cells;
const say = (said) => postMessage({ said });

// Python, with packages that the cells will need: they arrive beside it and each other. Before anything of it runs it is
// compared with the hashes that the book records, and the packages with those that Python's own list records.
async function start({ runtime, wheels, hashes, loads }, packages) {
  say(`Python is loading: ${loads}, the first time`);
  const indexURL = new URL(runtime, import.meta.url).href;
  const fetched = self.fetch;
  self.fetch = (address, how) => fetched(address, { integrity: hashes[String(address).replace(indexURL, "")], ...how });
  const script = async (name) => import(URL.createObjectURL(new Blob([await bytes(indexURL + name)], { type: "text/javascript" })));
  const compiled = Object.keys(hashes).find((name) => name.startsWith("pyodide.asm") && name.endsWith("js"));
  const [{ loadPyodide }, module, archive] = await Promise.all([
    script("pyodide.mjs"),
    script(compiled),
    bytes(new URL("recsample.zip", import.meta.url)),
  ]);
  const env = { HOME: "/home/pyodide", MPLBACKEND: "agg", TQDM_DISABLE: "1", NUMBA_DISABLE_JIT: "1" };
  const packageBaseUrl = new URL(wheels, import.meta.url).href;
  python = await loadPyodide({ indexURL, packageBaseUrl, createPyodideModule: module.default, env, packages });
  const extractDir = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(archive, "zip", { extractDir });
  await load("import numpy");
  cells = python.pyimport("cells");
}

async function bytes(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
  return answer.arrayBuffer();
}

// Loads what a source imports and is not there yet: whether there was anything to load.
async function load(source) {
  const failed = [];
  const loaded = await python.loadPackagesFromImports(source, {
    messageCallback: (text) => text.startsWith("Loading ") && say(text),
    errorCallback: (text) => failed.push(text),
  });
  if (failed.length) throw new Error(failed.join(" "));
  return loaded.length > 0;
}

onmessage = async ({ data: { settings, packages, source, given = {}, elsewhere, space = "", every = false } }) => {
  try {
    if (!cells) await start(settings, packages);
    say("Running");
    if (!elsewhere) await load(source);
    const outputs = elsewhere ? cells.skip(source, space) : await cells.run(source, load, space, every, python.toPy(given));
    postMessage({ outputs: JSON.parse(outputs) });
  } catch (error) {
    postMessage({ failed: String(error.message || error).trim().split("\n").pop() });
  }
};
