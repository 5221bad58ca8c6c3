create schema if not exists authn;

-- Signing keys of the services of the house. The private part is sealed under the house secret.
create table authn.house_key (
  kid text primary key,
  service text not null,
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null,
  retire_at timestamptz not null
);

-- Signing keys of the embedded issuer, kept so that a restart invalidates no token.
create table authn.issuer_key (
  kid text primary key,
  sealed_private bytea not null,
  created_at timestamptz not null
);
