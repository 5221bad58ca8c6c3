/** Whole families: what begins like this. */
const families =
  "NODE_ LD_ DYLD_ PYTHON PERL RUBY BASH ZSH GIT_ SSH_ NPM_ YARN_ PNPM_ BUN_ DENO_ UV_ PIP_ GEM_ BUNDLE_ JAVA_ JDK_ _JAVA DOTNET_ CORECLR_ COR_ " +
  "ERL_ ELIXIR_ MIX_ COMPLUS_ MONO_ NUGET_ MSBUILD GHC OCAML CAML_ GUILE_ EMACS ANSIBLE_ TF_ NIX_ CONDA_ POETRY_ LLVM_ ASAN_ LSAN_ TSAN_ UBSAN_ " +
  "QEMU_ QT_ GTK_ GIO_ GST_ MAGICK_ GS_ FONTCONFIG_ KRB5_ LDAP LIBMYSQL_ ODBC GCC_ GCOV_ VIM AWK AWS_ TSX_ SWC_ NPX_ PHP LUA_ TCL JULIA_ " +
  "CARGO_ RUST R_ TS_NODE_ ELECTRON_ OPENSSL_ SSL_ CURL_ XDG_ MALLOC_ GLIBC_ GCONV_ DOCKER_ BWRAP_ LESS GO MAVEN_ GRADLE_ MISE_ COREPACK_ " +
  "VOLTA_ PGSERVICE PGSYSCONF";
const single =
  "PATH HOME ENV SHELL SHELLOPTS IFS CDPATH PS1 PS2 PS3 PS4 PROMPT_COMMAND CLASSPATH TMPDIR TMP TEMP EDITOR VISUAL PAGER BROWSER LOCPATH NLSPATH " +
  "HOSTALIASES LOCALDOMAIN RES_OPTIONS REQUESTS_CA_BUNDLE TERMINFO TERMCAP SSLKEYLOGFILE ZDOTDIR FPATH INPUTRC PSMODULEPATH " +
  "CATALINA_OPTS JVM_OPTS MAKEFLAGS GNUMAKEFLAGS MAKEFILES CC CXX LIBRARY_PATH COMPILER_PATH MANPAGER MANOPT SYSTEMD_PAGER KUBECONFIG NETRC " +
  "WGETRC PGPASSFILE TNS_ADMIN ORACLE_HOME SASL_PATH TZDIR COMSPEC USER LOGNAME PWD OLDPWD RIPGREP_CONFIG_PATH SUDO_ASKPASS VIRTUAL_ENV";

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
