create schema pdp;

-- Policies that have decided, or may. A row never changes but in its state.
create table pdp.bundle (
  version text collate "C" primary key,
  seq bigint not null unique,
  digest text not null unique,
  state text not null check (state in ('draft', 'shadow', 'active', 'retired')),
  files jsonb not null,
  message text not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  activated_at timestamptz
);

-- Which of them decides.
create table pdp.pointer (
  id int primary key check (id = 1),
  active text not null references pdp.bundle,
  shadow text references pdp.bundle,
  epoch bigint not null
);

-- One row a call and (tenant, subject, agent) in it: nearly always one a call. Items hold what was decided, never what was
-- sent: properties, claims and arguments are digests, ids of secrets are sealed.
create table pdp.call (
  call_id text collate "C" not null,
  part int not null,
  decided_at timestamptz not null,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  agent text collate "C",
  pep text not null,
  policy_version text not null,
  graph_version bigint,
  latency_us int not null,
  request_id text,
  correlation_id text not null,
  items jsonb not null,
  primary key (call_id, part)
);
create index call_by_tenant on pdp.call (tenant, call_id desc);
create index call_by_subject on pdp.call (subject, call_id desc);
create index call_by_agent on pdp.call (agent, call_id desc) where agent is not null;
create index call_by_age on pdp.call (decided_at);

-- What the graph said, by digest: many decisions saw the same.
create table pdp.facts (
  digest text collate "C" primary key,
  facts jsonb,
  sealed bytea,
  last_used timestamptz not null,
  check ((facts is null) <> (sealed is null))
);
create index facts_by_age on pdp.facts (last_used);
