// The Python of a page: one worker, which ends with the page or when it is stopped.
let python, cells;
const say = (said) => postMessage({ said });

// Python, with packages that the cells will need: they arrive beside it and each other.
async function start(runtime, packages) {
  say("Python is loading");
  const indexURL = new URL(runtime, location).href;
  const [{ loadPyodide }, archive] = await Promise.all([import(`${indexURL}pyodide.mjs`), fetch("recsample.zip")]);
  if (!archive.ok) throw new Error(`${archive.url}: ${archive.status}`);
  const env = { HOME: "/home/pyodide", MPLBACKEND: "agg", TQDM_DISABLE: "1", NUMBA_DISABLE_JIT: "1" };
  python = await loadPyodide({ indexURL, env, packages });
  const extractDir = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(await archive.arrayBuffer(), "zip", { extractDir });
  await load("import numpy");
  cells = python.pyimport("cells");
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

onmessage = async ({ data: { runtime, packages, source, given = {}, elsewhere, space = "", every = false } }) => {
  try {
    if (!cells) await start(runtime, packages);
    say("Running");
    if (!elsewhere) await load(source);
    const outputs = elsewhere ? cells.skip(source, space) : await cells.run(source, load, space, every, python.toPy(given));
    postMessage({ outputs: JSON.parse(outputs) });
  } catch (error) {
    postMessage({ failed: String(error.message || error).trim().split("\n").pop() });
  }
};
