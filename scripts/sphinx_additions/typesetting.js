// MathJax without a browser, for typesetting.py: its parts are loaded before this.

const { TeX } = MathJax._.input.tex_ts;
const { CHTML } = MathJax._.output.chtml_ts;
const { TeXFont } = MathJax._.output.chtml.fonts.tex_ts;

const adaptor = MathJax._.adaptors.liteAdaptor.liteAdaptor();
const handler = MathJax._.handlers.html_ts.RegisterHTMLHandler(adaptor);
MathJax._.a11y["assistive-mml"].AssistiveMmlHandler(handler);

const output = new CHTML({ font: new TeXFont({ fontURL: "mathjax" }) });
const input = new TeX({ packages: ["base", "ams"] });   // what they do not know is an error
const page = MathJax._.mathjax.mathjax.document("", { InputJax: input, OutputJax: output });

// What a browser that shows HTML does without, a tenth of all.
const redundant = / (xmlns|unselectable|data-mjx-texclass)="[^"]*"| style="position: relative;"/g;

const typeset = (tex, display) => adaptor.outerHTML(page.convert(tex, { display })).replace(redundant, "");
const styles = () => `mjx-container {\n  position: relative;\n}\n${adaptor.textContent(output.styleSheet(page))}`;
