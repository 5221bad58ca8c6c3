import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitForPort } from "../kit/ports.ts";
import { startProgram, type Core, type Program } from "../kit/programs.ts";

export interface NginxOptions {
  readonly name: string;
  readonly folder: string;
  readonly core: Core;
  readonly port: number;
  /** What stands in `http { .. }` beside the basics. */
  readonly http: string;
}

/** nginx with one worker in the foreground, everything it writes below `folder`. */
export const startNginx = async (options: NginxOptions): Promise<Program> => {
  const home = join(options.folder, options.name);
  await mkdir(home, { recursive: true });
  const file = join(home, "nginx.conf");
  await writeFile(
    file,
    `daemon off; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log warn; worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
  keepalive_requests 100000000; keepalive_timeout 300s; tcp_nodelay on;
  ${options.http}
}
`,
  );
  const program = await startProgram("nginx", ["-e", `${home}/error.log`, "-p", home, "-c", file], { core: options.core });
  await waitForPort(options.port);
  return program;
};

/** The upstream of all candidates: small JSON to whatever is asked. */
export const upstreamConfig = (port: number): string => `
  access_log off; default_type application/json;
  server { listen 127.0.0.1:${port} backlog=4096; location / { return 200 '{"ok":true}'; } }`;

/**
 * What an nginx administrator would write for the same duty: a subrequest to the verifier for each request, its answer's
 * identity passed on, credentials taken off, the security headers set, one line of access log.
 */
export const authRequestConfig = (options: {
  readonly port: number;
  readonly verifier: number;
  readonly upstream: number;
  readonly log: string;
}): string => `
  log_format records escape=json '{"time":"$time_iso8601","level":"info","event":"http_request","method":"$request_method","endpoint":"$uri","status":"$status","duration_ms":$request_time,"correlation_id":"$request_id"}';
  access_log ${options.log} records;
  upstream verifier { server 127.0.0.1:${options.verifier}; keepalive 64; keepalive_requests 100000000; }
  upstream plain { server 127.0.0.1:${options.upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${options.port} backlog=4096;
    location = /_verify {
      internal;
      proxy_pass http://verifier/;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass_request_body off; proxy_set_header Content-Length "";
      proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Original-Method $request_method;
    }
    location /api/shop/ {
      auth_request /_verify;
      auth_request_set $user $upstream_http_x_user_id; auth_request_set $tenant $upstream_http_x_tenant_id;
      proxy_pass http://plain/;
      proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Cookie ""; proxy_set_header Authorization ""; proxy_set_header X-CSRF-Token ""; proxy_set_header X-CSRFToken "";
      proxy_set_header X-User-ID $user; proxy_set_header X-Tenant-ID $tenant; proxy_set_header X-Correlation-ID $request_id;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host;
      add_header Content-Security-Policy "default-src 'none'; sandbox; frame-ancestors 'none'" always;
      add_header X-Content-Type-Options nosniff always; add_header Referrer-Policy no-referrer always;
      add_header Cross-Origin-Resource-Policy same-origin always; add_header X-Correlation-ID $request_id always; add_header Cache-Control no-store always;
    }
  }`;

/** Plain relaying of event streams, unbuffered. */
export const relayConfig = (options: { readonly port: number; readonly source: number; readonly log: string }): string => `
  access_log ${options.log};
  upstream source { server 127.0.0.1:${options.source}; }
  server {
    listen 127.0.0.1:${options.port} backlog=4096;
    location /api/shop/ { proxy_pass http://source/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 300s; }
  }`;
