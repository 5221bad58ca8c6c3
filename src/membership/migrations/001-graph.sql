-- The identity graph, its change log and the ledger of delegated money.
-- Ids compare by byte order everywhere (collate "C"): index, SQL and JavaScript must agree on what comes first.
create schema if not exists membership;

create table membership.node (
  id text collate "C" primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$'),
  kind text not null,
  -- null = shared: every tenant sees it
  tenant_id text collate "C",
  name text not null check (char_length(name) between 1 and 256),
  display_name text,
  system text,
  state text not null,
  external_id text collate "C",
  digest text,
  props jsonb not null default '{}',
  -- NFKC and lower case of what a search may find, joined by U+001F; made by the writer, so that it is the same on every locale
  fold text collate "C" not null,
  rev bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index node_tenant_kind on membership.node (tenant_id, kind, id);
create index node_kind on membership.node (kind, id);
create index node_system_kind on membership.node (system, kind, id);
create unique index node_external on membership.node (tenant_id, system, external_id) where external_id is not null and kind <> 'Resource';
create unique index node_resource on membership.node (coalesce(tenant_id, ''), (props ->> 'type'), external_id) where kind = 'Resource';
create index node_resource_type on membership.node ((props ->> 'type'), external_id) where kind = 'Resource';
create unique index node_service_name on membership.node (coalesce(tenant_id, ''), name) where kind = 'MCPService';
create index node_client on membership.node ((props ->> 'client_id')) where kind in ('AIAgent', 'Service');
create index node_tool_name on membership.node (name) where kind = 'Tool';
create index node_mcp_resource_name on membership.node (name) where kind = 'MCPResource';
create index node_mcp_resource_uri on membership.node ((props ->> 'uri')) where kind = 'MCPResource';
create index node_mcp_resource_mime_type on membership.node ((props ->> 'mime_type')) where kind = 'MCPResource';
create index node_mcp_prompt_name on membership.node (name) where kind = 'MCPPrompt';
create index node_mcp_prompt_version on membership.node ((props ->> 'version')) where kind = 'MCPPrompt';

-- Substring search by trigrams where the extension is to be had; without it the same search reads the folded texts.
do $$
begin
  create extension if not exists pg_trgm;
  create index node_fold on membership.node using gin (fold gin_trgm_ops);
exception when others then
  raise notice 'pg_trgm is not available: substring search runs without an index';
end
$$;

create table membership.edge (
  id text collate "C" primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$'),
  kind text not null,
  src text collate "C" not null references membership.node,
  dst text collate "C" not null references membership.node,
  -- tells edges of one kind between the same two apart; empty unless the kind needs it
  discr text collate "C" not null default '',
  tenant_id text collate "C",
  digest text,
  props jsonb not null default '{}',
  expires_at timestamptz,
  rev bigint not null default 1,
  created_at timestamptz not null default now(),
  unique (kind, src, dst, discr),
  check (src <> dst)
);
create index edge_out on membership.edge (src, kind, dst);
create index edge_in on membership.edge (dst, kind, src);
create index edge_ends on membership.edge (expires_at) where expires_at is not null;

create table membership.delegation (
  id text collate "C" primary key references membership.edge,
  delegator_id text collate "C" not null references membership.node,
  agent_id text collate "C" not null references membership.node,
  tenant_id text collate "C" not null,
  parent_id text collate "C" references membership.delegation,
  -- from the first delegation down to this one, itself included
  path text[] collate "C" not null check (path[cardinality(path)] = id),
  status text not null check (status in ('active', 'paused', 'revoked', 'expired')),
  hold text check ((hold is not null) = (status = 'paused')),
  -- null = all that the agent has, now and later
  capabilities text[] collate "C",
  constraints jsonb not null default '{}',
  jkt text,
  purpose text not null,
  valid_from timestamptz not null,
  expires_at timestamptz,
  rev bigint not null default 1,
  created_by text not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz check ((ended_at is not null) = (status in ('revoked', 'expired'))),
  end_reason text
);
create index delegation_pair on membership.delegation (delegator_id, agent_id, status);
create index delegation_agent on membership.delegation (agent_id, status);
create index delegation_tenant on membership.delegation (tenant_id, id);
create index delegation_parent on membership.delegation (parent_id) where parent_id is not null;
create index delegation_path on membership.delegation using gin (path);
create index delegation_ends on membership.delegation (expires_at) where status in ('active', 'paused');

-- The ledger. Money is micro-USD. The checks are the last word: no order of statements can spend what is not there.
create table membership.meter (
  delegation_id text collate "C" primary key references membership.delegation,
  limit_micro bigint not null,
  used_micro bigint not null default 0 check (used_micro >= 0),
  held_micro bigint not null default 0 check (held_micro >= 0),
  lent_micro bigint not null default 0 check (lent_micro >= 0),
  limit_steps bigint not null,
  used_steps bigint not null default 0 check (used_steps >= 0),
  held_steps bigint not null default 0 check (held_steps >= 0),
  lent_steps bigint not null default 0 check (lent_steps >= 0),
  constraint meter_money check (used_micro + held_micro + lent_micro <= limit_micro),
  constraint meter_steps check (used_steps + held_steps + lent_steps <= limit_steps)
) with (fillfactor = 50);

create table membership.reservation (
  id uuid primary key,
  call_id text collate "C" not null,
  tenant_id text collate "C" not null,
  delegation_id text collate "C" not null references membership.delegation,
  tool_id text collate "C" not null,
  steps bigint not null check (steps > 0),
  micro bigint not null check (micro >= 0),
  -- what was left when it was held: a repeated call gets the first answer
  left_steps bigint not null,
  left_micro bigint not null,
  state text not null check (state in ('held', 'settled', 'released', 'lapsed')),
  outcome text check (outcome in ('ok', 'failed', 'unknown')),
  charged_steps bigint,
  charged_micro bigint,
  excess_micro bigint,
  -- settled after it had lapsed
  late boolean not null default false,
  created_at timestamptz not null default now(),
  ends_at timestamptz not null,
  closed_at timestamptz,
  constraint reservation_call unique (tenant_id, call_id),
  check ((state = 'held') = (closed_at is null)),
  check (charged_steps <= steps and charged_micro <= micro)
);
create index reservation_ends on membership.reservation (ends_at) where state = 'held';
create index reservation_use on membership.reservation (delegation_id, created_at);

create table membership.graph_head (
  one boolean primary key default true check (one),
  version bigint not null,
  at timestamptz not null default now()
);
insert into membership.graph_head (version) values (0);

create table membership.graph_change (
  version bigint primary key,
  at timestamptz not null default now(),
  tenant_id text collate "C",
  actor text not null,
  agent text,
  source text not null,
  reason text,
  correlation_id text not null,
  import_id text
);
create index graph_change_actor on membership.graph_change (actor, version);

create table membership.graph_change_op (
  version bigint not null references membership.graph_change,
  seq integer not null,
  op text not null check (op in ('put_node', 'drop_node', 'put_edge', 'drop_edge')),
  subject text collate "C" not null,
  src text collate "C",
  dst text collate "C",
  before jsonb,
  after jsonb,
  primary key (version, seq)
);
create index graph_change_op_subject on membership.graph_change_op (subject, version);
create index graph_change_op_src on membership.graph_change_op (src, version) where src is not null;
create index graph_change_op_dst on membership.graph_change_op (dst, version) where dst is not null;

create table membership.data_scope_rule (
  tenant_id text collate "C" not null,
  resource_type text collate "C" not null,
  tenant_column text not null check (tenant_column ~ '^[a-z_][a-z0-9_]{0,62}$'),
  own_column text check (own_column ~ '^[a-z_][a-z0-9_]{0,62}$'),
  own_groups text[] collate "C" not null default '{}',
  masks jsonb not null default '[]',
  rev bigint not null default 1,
  primary key (tenant_id, resource_type)
);

create table membership.idempotency (
  tenant_id text collate "C" not null,
  caller text collate "C" not null,
  method text not null,
  path text not null,
  key text collate "C" not null,
  body_digest text not null,
  status integer not null,
  headers jsonb not null,
  body jsonb not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, caller, method, path, key)
);
create index idempotency_age on membership.idempotency (created_at);

create table membership.job_lease (
  job text primary key,
  holder text not null,
  until timestamptz not null
);
