-- What the embedded OpenID provider keeps: sessions, codes, grants, refresh tokens. Ids are kept as SHA-256, contents sealed.
create table authn.oidc_artifact (
  kind text not null,
  id_hash bytea not null,
  uid_hash bytea,
  grant_hash bytea,
  sealed bytea not null,
  consumed_at timestamptz,
  expires_at timestamptz,
  primary key (kind, id_hash)
);
create index oidc_artifact_uid on authn.oidc_artifact (kind, uid_hash) where uid_hash is not null;
create index oidc_artifact_grant on authn.oidc_artifact (grant_hash) where grant_hash is not null;
create index oidc_artifact_expiry on authn.oidc_artifact (expires_at) where expires_at is not null;

-- Failed sign-ins of an account since a time; enough of them lock it for a while.
create table authn.failed_sign_in (
  sub text not null,
  factor text not null,
  failures integer not null,
  since timestamptz not null,
  primary key (sub, factor)
);

-- Time steps whose one-time code was used: a code opens the door once.
create table authn.used_code (
  sub text not null,
  step bigint not null,
  expires_at timestamptz not null,
  primary key (sub, step)
);
