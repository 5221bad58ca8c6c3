/** Whole families: what begins like this. */
const families =
  "NODE_ LD_ DYLD_ PYTHON PERL RUBY BASH ZSH GIT_ SSH_ NPM_ YARN_ PNPM_ BUN_ DENO_ UV_ PIP_ GEM_ BUNDLE_ JAVA_ JDK_ _JAVA DOTNET_ CORECLR_ COR_ " +
  "VIM AWK AWS_ TSX_ SWC_ NPX_ PHP LUA_ TCL JULIA_ CARGO_ RUST R_ TS_NODE_ ELECTRON_ OPENSSL_ SSL_ CURL_ XDG_ MALLOC_ GLIBC_ GCONV_ DOCKER_ BWRAP_ LESS GO " +
  "MAVEN_ GRADLE_ ERL_ ELIXIR_ MISE_ NIX_ CONDA_ COREPACK_ VOLTA_ PGSERVICE PGSYSCONF";
const single =
  "PATH HOME ENV SHELL SHELLOPTS IFS CDPATH PS1 PS2 PS3 PS4 PROMPT_COMMAND CLASSPATH TMPDIR TMP TEMP EDITOR VISUAL PAGER BROWSER LOCPATH NLSPATH " +
  "HOSTALIASES LOCALDOMAIN RES_OPTIONS REQUESTS_CA_BUNDLE TERMINFO TERMCAP USER LOGNAME PWD OLDPWD " +
  "MAKEFLAGS GNUMAKEFLAGS MAKEFILES RIPGREP_CONFIG_PATH KUBECONFIG SUDO_ASKPASS MANPAGER SYSTEMD_PAGER VIRTUAL_ENV";

const begins = families.split(" ");
const names: ReadonlySet<string> = new Set(single.split(" "));

/**
 * Variables by which a program, an interpreter or its loader runs other code, reads other configuration, trusts somebody else or talks
 * elsewhere (`HTTPS_PROXY`): whether who chooses the value may choose what runs. In any case: npm and curl read both.
 */
export const isLoaderVariable = (name: string): boolean => {
  const capitals = name.toUpperCase();
  return names.has(capitals) || /_(?:PROXY|BASE_URL|ENDPOINT_URL)$/.test(capitals) || begins.some((start) => capitals.startsWith(start));
};
