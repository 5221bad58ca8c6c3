create schema if not exists gateway;

-- A browser's session. The browser holds a random id; here lies only its SHA-256, so a copy of this table opens nothing.
create table gateway.session (
  sid_hash text primary key,
  ref uuid not null unique,
  generation int not null,
  subject text not null,
  tenant text not null,
  issuer text not null,
  idp_sid text,
  acr text,
  amr text[] not null,
  auth_time bigint,
  claims jsonb not null,
  ua_hash text,
  net_hash text,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  idle_expires_at timestamptz not null,
  absolute_expires_at timestamptz not null,
  access_expires_at timestamptz,
  tokens bytea not null,
  token_generation int not null
);
create index session_of_subject on gateway.session (tenant, subject);
create index session_expiry on gateway.session (least(idle_expires_at, absolute_expires_at));

-- What may be used once: sign-in transactions.
create table gateway.once (
  kind text not null,
  id_hash text not null,
  expires_at timestamptz not null,
  primary key (kind, id_hash)
);
create index once_expiry on gateway.once (expires_at);

-- Refresh tokens of ended sessions, sealed, until the provider has revoked them.
create table gateway.revocation (
  ref uuid primary key,
  token bytea not null,
  next_at timestamptz not null,
  expires_at timestamptz not null
);
create index revocation_due on gateway.revocation (next_at);
