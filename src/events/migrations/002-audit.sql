-- One log a tenant, and `house` for what belongs to none. A log that no longer continues what was published is
-- `inconsistent`, and nothing more may be recorded in it until it is reopened as the next generation.
create table events.audit_log (
  log text primary key,
  origin text not null,
  generation int not null default 1,
  size bigint not null default 0,
  status text not null default 'open' check (status in ('open', 'inconsistent'))
);

-- Where entries are written first: narrow, for an act waits for it. Ids sort by time, so the key is also the order.
create table events.audit_queue (
  entry_id uuid primary key,
  log text not null,
  leaf bytea not null,
  queued_at timestamptz not null default clock_timestamp()
);

-- The log itself. `leaf` is the canonical text of the entry; the columns repeat it for questions. `leaf_hash` is that of
-- RFC 6962: SHA-256 of 0x00 and the leaf. A leaf whose time is over is emptied; its hash stays.
create table events.audit_entry (
  log text not null references events.audit_log,
  seq bigint not null,
  entry_id uuid not null unique,
  leaf bytea,
  leaf_hash bytea not null,
  at timestamptz not null,
  writer text not null,
  writer_n bigint not null,
  category text not null,
  phase text not null,
  act_id text not null,
  outcome text not null,
  code text,
  subject_ref text not null,
  agent_id text,
  delegation_id text,
  session_ref text,
  tool text,
  resource_type text not null,
  resource_id text,
  resource_ref text,
  decision_id text,
  run_id text,
  correlation_id text not null,
  primary key (log, seq)
);

create index audit_entry_act on events.audit_entry (act_id);
create index audit_entry_correlation on events.audit_entry (correlation_id);
create index audit_entry_subject on events.audit_entry (log, subject_ref, seq);
create index audit_entry_agent on events.audit_entry (log, agent_id, seq) where agent_id is not null;
create index audit_entry_decision on events.audit_entry (decision_id) where decision_id is not null;
create index audit_entry_writer on events.audit_entry (writer, writer_n);
create index audit_entry_open on events.audit_entry (writer, act_id) where phase = 'open';

-- One row a process that records. A writer that neither closed nor was seen lately is dead: what it left open is closed
-- as unknown by whoever claims it.
create table events.audit_writer (
  writer text primary key,
  service text not null,
  host text not null,
  pid int not null,
  boot_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  claimed_by text,
  claimed_until timestamptz
);

-- The key behind each person's reference. Deleting the row erases the person from all that was recorded and published.
create table events.subject_key (
  tenant text not null,
  subject_id text not null,
  ref text not null unique,
  wrapped_key bytea not null,
  legal_hold boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant, subject_id)
);
