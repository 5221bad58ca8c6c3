-- Charges of tool calls that membership has not acknowledged. A row is deleted with the acknowledgement.
create table crud.settlement (
  call_id uuid primary key,
  reservation_id text not null,
  usd_micro bigint not null,
  steps integer not null,
  outcome text not null check (outcome in ('ok', 'failed', 'unknown', 'released')),
  correlation_id text not null,
  attempts integer not null default 0,
  next_at timestamptz not null default now()
);
create index settlement_next on crud.settlement (next_at);
