-- Time of workflows: that of the database, and how far tests set it ahead.
create table crud.wf_clock (ahead interval not null);
create function crud.wf_now() returns timestamptz language sql volatile as
$$ select clock_timestamp() + coalesce((select sum(ahead) from crud.wf_clock), interval '0') $$;

-- A run. It is due at `wake_at`; null: only a signal or a verb wakes it. Whoever has the lease writes under its `epoch` alone.
create table crud.wf_run (
  id text collate "C" primary key,
  tenant text collate "C" not null,
  name text collate "C" not null,
  version text not null,
  config_version int not null,
  subject text not null,
  agent text,
  delegation_id text,
  client_id text,
  scopes text[] not null,
  acr text,
  auth_time timestamptz,
  correlation_id text not null,
  input json,
  context json,
  output json,
  error json,
  phase text not null default 'pending'
    check (phase in ('pending', 'running', 'waiting', 'suspended', 'undoing', 'completed', 'faulted', 'cancelled')),
  reason text,
  undo_for text check (undo_for in ('fault', 'cancel')),  -- it undoes, also while it is suspended
  desired text check (desired in ('cancel', 'cancel_undo', 'suspend', 'revoke')),  -- of who has no lease; acts at the next fence
  state_version int not null default 1,
  epoch bigint not null default 0,
  lease_by text,
  lease_to timestamptz,
  wake_at timestamptz,
  wake_seq bigint not null default 0,
  done_seq int not null default 0,
  cost_micro bigint not null default 0,
  cost_steps int not null default 0,
  idem_key text,
  idem_hash text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz,
  deadline timestamptz not null,
  is_blanked boolean not null default false
);
create unique index wf_run_key on crud.wf_run (tenant, name, subject, idem_key) where idem_key is not null;
create index wf_run_due on crud.wf_run (tenant, wake_at) where wake_at is not null;
create index wf_run_live on crud.wf_run (tenant, name) where ended_at is null;
create index wf_run_delegation on crud.wf_run (delegation_id) where ended_at is null and delegation_id is not null;
create index wf_run_ended on crud.wf_run (ended_at) where ended_at is not null;

create table crud.wf_step (
  run_id text collate "C" not null references crud.wf_run on delete cascade,
  path text collate "C" not null,
  tenant text not null,
  kind text not null,
  status text not null
    check (status in ('running', 'waiting', 'done', 'skipped', 'failed', 'unknown', 'undone', 'cancelled')),
  reason text,
  attempt int not null,
  retries int not null,
  input json,
  output json,
  error json,
  undo json,          -- tool and arguments that undo it
  undo_of text,
  task_id text,
  wake_at timestamptz,
  done_seq int,
  started_at timestamptz not null,
  ended_at timestamptz,
  primary key (run_id, path)
);

-- What a change of policies, graph or tools may end.
create index wf_step_refused on crud.wf_step (tenant, run_id) where status = 'waiting' and reason in ('denied', 'budget', 'unavailable');

-- A call of a step. `entry` is what opened its act in the audit log: whoever finds it without an outcome closes it as unknown.
create table crud.wf_attempt (
  run_id text collate "C" not null references crud.wf_run on delete cascade,
  path text collate "C" not null,
  attempt int not null,
  tenant text not null,
  call_id uuid not null,
  reservation_id text,
  held_micro bigint not null,
  held_steps int not null,
  is_repeatable boolean not null,
  decision_id text,
  entry json,
  outcome text,
  cost_micro bigint,
  epoch bigint not null,
  opened_at timestamptz not null,
  ended_at timestamptz,
  primary key (run_id, path, attempt)
);

create table crud.wf_signal (
  run_id text collate "C" not null references crud.wf_run on delete cascade,
  topic text collate "C" not null,
  signal_id text collate "C" not null,
  tenant text not null,
  payload json not null,
  consumed_by text,
  at timestamptz not null,
  primary key (run_id, topic, signal_id)
);

-- First statement of each transaction of the engine. WF001: the lease is lost. WF002: somebody changed what the holder read; `seen_wake` is
-- null where a signal in between does not matter.
create function crud.wf_fence(run text, held_epoch bigint, holder text, seen_version int, seen_wake bigint) returns void
language plpgsql as $$
declare r record;
begin
  select epoch, lease_by, lease_to, state_version, wake_seq into r from crud.wf_run where id = run for no key update;
  if not found or r.epoch <> held_epoch or r.lease_by is distinct from holder or r.lease_to <= crud.wf_now() then
    raise exception 'the lease is lost' using errcode = 'WF001';
  end if;
  if r.state_version <> seen_version or r.wake_seq <> seen_wake then
    raise exception 'the run changed' using errcode = 'WF002';
  end if;
end $$;

-- WF003: it ended before, so the transaction that is tried again was committed.
create function crud.wf_end_attempt(run text, step text, number int, how text, micro bigint) returns void
language plpgsql as $$
begin
  update crud.wf_attempt set outcome = how, cost_micro = micro, entry = null, ended_at = crud.wf_now()
  where run_id = run and path = step and attempt = number and outcome is null;
  if not found then
    raise exception 'the attempt has ended' using errcode = 'WF003';
  end if;
end $$;
