-- What was found in a version when it was stored, and a number that is never used twice.
alter table pdp.bundle add column report jsonb;
create sequence pdp.bundle_seq;
select setval('pdp.bundle_seq', greatest((select coalesce(max(seq), 0) from pdp.bundle), 1), exists (select 1 from pdp.bundle));

-- Digest of the policy files of the last start: only files that changed since then are taken in.
alter table pdp.pointer add column imported text;
update pdp.pointer p set imported = (select digest from pdp.bundle b where b.version = p.active);

-- What a version in shadow decided otherwise, by kind of difference and tenant.
create table pdp.shadow (
  version text collate "C" not null references pdp.bundle on delete cascade,
  tenant text collate "C" not null,
  class text collate "C" not null,
  resource_type text not null,
  action text not null,
  active jsonb not null,
  other jsonb not null,
  count bigint not null,
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  sample jsonb not null,
  primary key (version, tenant, class)
);
create table pdp.shadow_total (
  version text collate "C" primary key references pdp.bundle on delete cascade,
  evaluated bigint not null,
  dropped bigint not null,
  different bigint not null
);

-- Recorded decisions decided again in the background. Whoever holds it says so every few seconds; else another takes it over.
create table pdp.replay (
  id text collate "C" primary key,
  tenant text collate "C" not null,
  version text collate "C" not null,
  filter jsonb not null,
  most int not null,
  state text not null check (state in ('running', 'done', 'stopped', 'failed')),
  progress jsonb not null,
  holder text,
  seen_at timestamptz,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index replay_running on pdp.replay (created_at) where state = 'running';

-- What was done to the database while nothing was running; audited at the next start.
create table pdp.offline_act (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  act jsonb not null,
  audited_at timestamptz
);
