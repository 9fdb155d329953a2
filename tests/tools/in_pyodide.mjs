// Runs the examples of the package in Pyodide, where an index has 32 bits, and prints the outcomes.
// node in_pyodide.mjs RUNTIME SITE PART...    the folder of Pyodide, one with what is imported, and
//                                             which of Pyodide's own packages are needed
import { pathToFileURL } from "node:url";

const [runtime, site, ...parts] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${runtime}/pyodide.mjs`));
try {
  const pyodide = await loadPyodide({ env: { HOME: "/home/pyodide", MPLBACKEND: "agg" } });
  await pyodide.loadPackage(parts, { messageCallback: () => {} });
  pyodide.mountNodeFS("/site", site);
  console.log(pyodide.runPython(`
import sys
sys.path.insert(0, "/site")
import examples
examples.outcomes("recsample", "large")
`));
} catch (error) {
  console.error(error.message);   // without the line of Pyodide's code, which has a million characters
  process.exit(1);
}
