-- Answers to writes that came with an Idempotency-Key; no status yet: the first one is under way. No column holds a value.
create table secrets.keyed_answer (
  tenant text not null,
  caller text not null,
  path text not null,
  key text not null,
  body_mac text not null,
  status integer,
  answer jsonb,
  claimed_at timestamptz not null default now(),
  primary key (tenant, caller, path, key)
);
create index keyed_answer_age on secrets.keyed_answer (claimed_at);

-- Whom a move was for, so that whoever ends it for a process that died can say so.
alter table secrets.move add column subject text, add column decision_id text, add column correlation_id text;
