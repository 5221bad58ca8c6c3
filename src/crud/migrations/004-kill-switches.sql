-- What a tenant has switched off for its own callers: all, a view, a system, a tool, an agent. Gone rows are in the audit log.
create table crud.kill_switch (
  tenant_id text not null,
  scope text collate "C" not null,
  reason text not null,
  by_sub text not null,
  at timestamptz not null default clock_timestamp(),
  until timestamptz,
  primary key (tenant_id, scope)
);
