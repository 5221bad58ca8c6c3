-- Secrets of agents and service clients; only their digests.
create table membership.client_credential (
  id uuid primary key,
  client_id text collate "C" not null references membership.node on delete cascade,
  secret_sha256 text not null check (secret_sha256 ~ '^[0-9a-f]{64}$'),
  -- the same for all credentials of a client
  scopes text[] not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index client_credential_client on membership.client_credential (client_id);
