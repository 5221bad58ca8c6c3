/**
 * Programs that run code from their arguments: an argument of them is code. By name, without what a system adds to it
 * (`python3.13`, `bash.exe`).
 */
const runners: ReadonlySet<string> = new Set(
  (
    "sh ash bash dash zsh ksh mksh fish csh tcsh rbash busybox toybox cmd powershell pwsh env nohup nice timeout setsid stdbuf xargs find parallel " +
    "sudo su doas ssh script expect strace gdb watch make awk gawk mawk nawk sed vi vim ed node nodejs deno bun npm npx pnpm pnpx yarn yarnpkg tsx " +
    "corepack python pypy pip pipx uv uvx conda poetry perl ruby gem bundle irb php lua luajit tclsh r rscript julia groovy jshell java jrunscript " +
    "bunx ts-node wasmtime wasmer tar bsdtar git hg svn rsync scp sftp curl wget emacs nano less more man sqlite sqlite3 psql mysql redis-cli " +
    "openssl socat nc ncat netcat zip unzip 7z ffmpeg dd tee cp mv ln install mount systemctl crontab at batch screen tmux " +
    "go cargo dotnet osascript docker podman nerdctl kubectl systemd-run vite bwrap unshare nsenter chroot flock " +
    "setpriv runuser taskset ionice prlimit valgrind ltrace lldb m4 ninja cmake mvn gradle erl elixir iex ghci rg ts-node-esm apptainer firejail " +
    "nodemon pm2 pipenv hatch pdm rye jupyter ipython pytest mise direnv nix nix-shell"
  ).split(" "),
);

const plainName = (command: string): string =>
  (command.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|ps1|js|mjs|cjs)$/, "");

/** Whether an argument of this command may be a program: a loader (`ld-linux-x86-64.so.2`) starts any, too. */
export const runsAnyProgram = (command: string): boolean => {
  const name = plainName(command);
  return runners.has(name) || runners.has(name.replace(/[-._]?\d[\d.]*w?$/, "")) || name.startsWith("ld-");
};
