-- Tokens of directories that push persons and groups; of the secret only its SHA-256.
create table membership.scim_token (
  id text collate "C" primary key,
  tenant_id text collate "C" not null,
  digest text not null,
  name text not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz
);
create index scim_token_tenant on membership.scim_token (tenant_id, id);

-- What a directory says of its users and groups, as it said it; the nodes of the graph are made of it. Who is in a group are edges.
create table membership.scim_resource (
  -- of the Person or Group
  id text collate "C" primary key references membership.node on delete cascade,
  tenant_id text collate "C" not null,
  type text not null check (type in ('User', 'Group')),
  document jsonb not null,
  rev bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index scim_resource_type on membership.scim_resource (tenant_id, type, id);
create unique index scim_resource_user_name on membership.scim_resource (tenant_id, lower((document ->> 'userName') collate "C")) where type = 'User';
create index scim_resource_display_name on membership.scim_resource (tenant_id, lower((document ->> 'displayName') collate "C")) where type = 'Group';
create index scim_resource_external_id on membership.scim_resource (tenant_id, type, (document ->> 'externalId'));
