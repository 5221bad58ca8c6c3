-- What people are asked in runs of workflows. `path` is the step that waits; its signal has the task's id as topic.
create table crud.task (
  id text collate "C" primary key,
  tenant text collate "C" not null,
  run_id text collate "C" not null references crud.wf_run on delete cascade,
  path text collate "C" not null,
  step text not null,               -- last part of the path
  workflow text not null,
  kind text not null check (kind in ('approval', 'form', 'choice', 'unknown_outcome')),
  status text not null default 'PENDING' check (status in ('PENDING', 'COMPLETED', 'REJECTED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  description text,
  owner text not null,              -- of the workflow
  created_by text not null,
  created_by_agent text,
  created_at timestamptz not null,
  due_at timestamptz,
  expires_at timestamptz,
  required int not null check (required > 0),
  received int not null default 0,  -- most persons of one decision
  allowed_decisions text[] not null,
  is_separated boolean not null,    -- neither the subject of the run nor its agents decide
  separated_steps text[] not null,  -- nor who decided these
  form text,
  prefill json,
  evidence json,
  evidence_digest text not null,    -- each decision was made on it
  decision text,
  completed_by text,
  completed_at timestamptz,
  state_version int not null default 1
);
create index task_run on crud.task (run_id);
create index task_list on crud.task (tenant, created_at desc, id desc);
create index task_pending on crud.task (tenant, kind) where status = 'PENDING';

-- Who is asked to act: a person, group or role. `excluded` has passed the task on.
create table crud.task_approver (
  task_id text collate "C" not null references crud.task on delete cascade,
  identity text collate "C" not null,
  source text not null check (source in ('assigned', 'delegated', 'excluded')),
  by_person text,                   -- of a delegated one
  note text,
  primary key (task_id, identity)
);
create index task_approver_identity on crud.task_approver (identity, task_id);

create table crud.task_decision (
  task_id text collate "C" not null references crud.task on delete cascade,
  person text collate "C" not null,
  agent text,                       -- that sent it for the person
  decision text not null,
  data json,
  comment text,
  evidence_digest text not null,
  decision_id text,
  at timestamptz not null,
  primary key (task_id, person)
);

-- Answers to what was sent with an idempotency key. `scope` is the run.
create table crud.wf_idempotency (
  tenant text not null,
  scope text collate "C" not null,
  caller text not null,
  key text not null,
  body_hash text not null,
  answer json not null,
  at timestamptz not null,
  primary key (tenant, scope, caller, key)
);
create index wf_idempotency_at on crud.wf_idempotency (at);
