// An address on the one page that the API had once leads to the page where that name is now.
const name = /^#(?:module-)?recsample\.(\w+)(\.sequential\.)?/.exec(location.hash);
if (name) location.replace(`api/${name[2] ? "sequential" : name[1]}.html${location.hash}`);
