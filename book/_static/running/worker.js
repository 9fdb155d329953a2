// The Python of a page: one worker, which ends with the page or when it is stopped.
let python, cells, origin, packages, own;
const told = new Set();
const say = (text) => postMessage({ said: text });
const get = async (address, how) => {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer[how]();
};
const packed = (name) => get(`${origin}${name}.zip`, "arrayBuffer");
const unpack = async (name, archive = packed(name)) => python.unpackArchive(await archive, "zip", { extractDir: site() });
const site = () => python.runPython("import site; site.getsitepackages()[0]");

// Python, with the libraries that the cells to run import by name: they arrive beside it and each other.
async function start({ base, runtime, libraries }, imported) {
  [origin, own] = [base, new Set(libraries)];
  say("Python is loading");
  const [{ loadPyodide }, lock, archive, source, own_page] = await Promise.all([
    import(`${runtime}pyodide.mjs`),
    get(`${runtime}pyodide-lock.json`, "json"),
    packed("recsample"),
    get(`${base}cells.py`, "text"),
    get(`${base}own.py`, "text"),
  ]);
  packages = new Map();
  for (const one of Object.values(lock.packages)) for (const name of one.imports) packages.set(name, one.name);
  const env = { HOME: "/home/pyodide", MPLBACKEND: "agg", TQDM_DISABLE: "1", NUMBA_DISABLE_JIT: "1" };
  const first = [...new Set(["numpy", ...imported])].filter((name) => packages.has(name) && !own.has(name));
  python = await loadPyodide({ indexURL: runtime, env, packages: first.map((name) => packages.get(name)) });
  arrived(first);
  await unpack("recsample", archive);
  python.FS.writeFile("/home/pyodide/cells.py", source);
  python.FS.writeFile("/home/pyodide/own.py", own_page);
  cells = python.runPython("import sys; sys.path.append('/home/pyodide'); import cells; cells");
}

// Loads libraries by the names under which they are imported: whether there were any to load.
async function load(names) {
  const wanted = [...names.toJs()].filter((name) => !told.has(name) && (own.has(name) || packages.has(name)));
  if (!wanted.length) return false;
  say(`Loading ${wanted.join(", ")}`);
  const others = wanted.filter((name) => !own.has(name)).map((name) => packages.get(name));
  const done = wanted.filter((name) => own.has(name)).map((name) => unpack(name));
  if (others.length) done.push(python.loadPackage(others, { messageCallback() {}, errorCallback() {} }));
  await Promise.all(done);
  arrived(wanted);
  say("Running");
  return true;
}

function arrived(names) {
  const lost = names.filter((name) => !own.has(name) && !(packages.get(name) in python.loadedPackages));
  if (lost.length) throw new Error(`${lost.join(", ")} did not arrive`);
  names.forEach((name) => told.add(name));
}

let last = Promise.resolve();
onmessage = ({ data }) => {
  last = last.then(() => answer(data));
};
async function answer({ id, settings, source, imported = [], elsewhere, given, space = "", every = false }) {
  try {
    if (!cells) await start(settings, imported);
    say("Running");
    for (const [name, value] of Object.entries(given ?? {})) cells.give(space, name, python.toPy(value));
    const outputs = elsewhere ? cells.skip(source, space) : await cells.run(source, load, space, every);
    postMessage({ id, outputs: JSON.parse(outputs) });
  } catch (error) {
    postMessage({ id, failed: cells ? "run" : "start", why: String(error.message || error).trim().split("\n").pop() });
  }
}
