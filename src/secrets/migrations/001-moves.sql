-- Moves of secrets that began, with how far each came: what a process that died left is settled by what is there.
create schema if not exists secrets;
create table secrets.move (
  id uuid primary key,
  tenant text not null,
  from_uri text not null,
  to_uri text not null,
  source_version bigint,
  source_created_at text,
  state text not null check (state in ('planned', 'verified', 'source_deleted', 'done', 'failed')),
  code text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index move_open on secrets.move (updated_at) where state not in ('done', 'failed');
