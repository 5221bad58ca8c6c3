-- What a version in shadow made of a decision. Beside the record and not in it: the record is written, and its digest is in the
-- audit log, before the answer leaves, and a shadow decides only after that.
create table pdp.shadow_decision (
  call_id text collate "C" not null,
  -- Its place in a batch; -1: it was asked alone.
  place int not null,
  version text collate "C" not null,
  decided_at timestamptz not null,
  outcome jsonb not null,
  primary key (call_id, place)
);
create index shadow_decision_by_age on pdp.shadow_decision (decided_at);
