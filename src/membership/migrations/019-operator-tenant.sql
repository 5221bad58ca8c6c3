-- The operator's tenant: role:platform counts for its people alone. It is the first administrator's, and never another one afterwards.
create table membership.operator_tenant (
  one boolean primary key default true check (one),
  tenant_id text collate "C" not null,
  at timestamptz not null default now()
);
-- A person who is gone is still known to the change log.
insert into membership.operator_tenant (tenant_id)
select t.tenant_id from membership.first_administrator f cross join lateral (
  select n.tenant_id, 0 as rank, 0::bigint as version, 0 as seq from membership.node n where n.id = f.person_id
  union all
  select coalesce(o.after, o.before) ->> 'tenant_id', 1, o.version, o.seq from membership.graph_change_op o where o.subject = f.person_id
  order by rank, version desc, seq desc limit 1) t
where t.tenant_id is not null;
-- A deployment without a first administrator that has one tenant is that tenant's.
insert into membership.operator_tenant (tenant_id)
select min(id) from membership.node where kind = 'Tenant' having count(*) = 1
on conflict (one) do nothing;
