-- What lists of runs show and look for. Ids sort as the moments of their runs.
alter table crud.wf_run add column namespace text not null default 'all';
-- The agent that acts, also one in its own name: who controls it sees the run.
alter table crud.wf_run add column acting_agent text collate "C" generated always as
  (coalesce(agent, case when starts_with(subject, 'agent:') then subject end)) stored;
create index wf_run_list on crud.wf_run (tenant, id desc);
create index wf_run_agent on crud.wf_run (tenant, acting_agent) where acting_agent is not null;
