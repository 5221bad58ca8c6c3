-- Ids of client assertions that were used: each proves its client once.
create table authn.used_assertion (
  id_hash bytea primary key,
  expires_at timestamptz not null
);
