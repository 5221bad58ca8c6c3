-- What is about to be done to a store, committed before it is: a process that died, or an answer that was lost, leaves a row that says
-- what to look for. No column holds a value: of a map that is written there is a MAC under the house's secret.
create table secrets.intent (
  id uuid primary key,
  tenant text not null,
  uri text not null,
  op text not null,
  wanted text not null check (wanted in ('written', 'deleted', 'destroyed', 'active')),
  versions bigint[] not null,
  map_mac text,
  subject text not null,
  decision_id text,
  correlation_id text not null,
  -- open until somebody knows; superseded: another version stands where this one would, so nobody will.
  state text not null default 'open' check (state in ('open', 'completed', 'failed', 'superseded')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index intent_open on secrets.intent (updated_at) where state = 'open';
create index intent_settled on secrets.intent (updated_at) where state <> 'open';
