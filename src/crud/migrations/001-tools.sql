create schema crud;

-- What was approved of a tool of an external server, and what the server serves now. A tool is served only while both are
-- the same.
create table crud.tool_definition (
  tool text primary key,
  system text not null,
  state text not null check (state in ('proposed', 'approved', 'drifted', 'rejected')),
  approved_digest bytea,
  served_digest bytea,
  approved jsonb,
  served jsonb,
  since timestamptz not null default now(),
  decided_by text,
  reason text
);
create index tool_definition_system on crud.tool_definition (system);

-- Calls that name an idempotency key, and the sealed answer of those that are done.
create table crud.tool_call (
  call_id uuid primary key,
  tenant_id text not null,
  principal text not null,
  tool text not null,
  idem_key text not null,
  arguments_digest bytea not null,
  state text not null check (state in ('running', 'done', 'unknown')),
  reply bytea,
  node text not null,
  at timestamptz not null default now(),
  expires_at timestamptz not null,
  unique (principal, tool, idem_key)
);
create index tool_call_expires on crud.tool_call (expires_at);
