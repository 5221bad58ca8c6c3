-- Limits of spending in a day or a month, beside the budget of each delegation. They are enforced where the money is held, by triggers on
-- the reservations: no statement that moves money, now or later, can pass them by.

create table membership.budget_limit (
  id text collate "C" primary key,
  tenant_id text collate "C" not null,
  scope text not null check (scope in ('user', 'team', 'tenant')),
  -- the person, the group or the tenant whose agents may spend no more
  node_id text collate "C" not null references membership.node on delete cascade,
  -- null = all agents together
  agent_id text collate "C" references membership.node on delete cascade,
  period text not null check (period in ('daily', 'monthly')),
  limit_micro bigint not null check (limit_micro >= 0),
  changed_by text not null,
  changed_at timestamptz not null default now(),
  check (scope <> 'tenant' or node_id = tenant_id),
  constraint budget_limit_one unique nulls not distinct (tenant_id, scope, node_id, agent_id, period)
);
create index budget_limit_node on membership.budget_limit (node_id);

-- What was spent and is held under a limit, a row for each day or month (UTC) in which something was.
create table membership.budget_use (
  limit_id text collate "C" not null references membership.budget_limit on delete cascade,
  period_start timestamptz not null,
  used_micro bigint not null default 0 check (used_micro >= 0),
  held_micro bigint not null default 0 check (held_micro >= 0),
  primary key (limit_id, period_start)
) with (fillfactor = 50);

-- Under which limits a reservation counts: those that applied when it was made, in the period of that moment.
create table membership.budget_hold (
  reservation_id uuid not null references membership.reservation on delete cascade,
  limit_id text collate "C" not null references membership.budget_limit on delete cascade,
  period_start timestamptz not null,
  primary key (reservation_id, limit_id)
);

create function membership.budget_period(period text, moment timestamptz) returns timestamptz language sql immutable as
  $$ select date_trunc(case period when 'daily' then 'day' else 'month' end, moment, 'UTC') $$;

-- The person's own id, the groups above it by its accounts (nested ones too), and the tenant.
create function membership.budget_nodes(person text, tenant text) returns setof text language sql stable as $$
  with recursive above(id, depth) as (
    select person collate "C", 0
    union
    select e.dst, a.depth + 1 from above a join membership.edge e on e.src = a.id and e.kind in ('BELONGS_TO', 'MEMBER_OF')
      and (e.expires_at is null or e.expires_at > now())
    where a.depth < 8)
  select id from above union select tenant
$$;

-- The limits that a delegation's spending counts under. The person is the one at the top of a chain of delegations.
create function membership.budget_limits_of(delegation text) returns setof membership.budget_limit language sql stable as $$
  select b.* from membership.delegation d join membership.delegation r on r.id = d.path[1]
    join membership.budget_limit b on b.tenant_id = d.tenant_id and (b.agent_id is null or b.agent_id = d.agent_id)
  where d.id = delegation and b.node_id in (select membership.budget_nodes(r.delegator_id, d.tenant_id))
  order by b.id
$$;

-- The least that the limits leave to a delegation at this moment; null where none applies.
create function membership.budget_left(delegation text, tenant text) returns bigint language plpgsql stable as $$
begin
  if not exists (select 1 from membership.budget_limit b where b.tenant_id = tenant) then
    return null;
  end if;
  return (
    select min(greatest(l.limit_micro - coalesce(u.used_micro, 0) - coalesce(u.held_micro, 0), 0))
    from membership.budget_limits_of(delegation) l left join membership.budget_use u
      on u.limit_id = l.id and u.period_start = membership.budget_period(l.period, now()));
end
$$;

create function membership.hold_budgets() returns trigger language plpgsql as $$
declare
  l membership.budget_limit;
  since timestamptz;
begin
  if new.micro = 0 or not exists (select 1 from membership.budget_limit b where b.tenant_id = new.tenant_id) then
    return null;
  end if;
  for l in select * from membership.budget_limits_of(new.delegation_id) loop
    since := membership.budget_period(l.period, new.created_at);
    insert into membership.budget_use (limit_id, period_start) values (l.id, since) on conflict do nothing;
    update membership.budget_use u set held_micro = u.held_micro + new.micro
    where u.limit_id = l.id and u.period_start = since and u.used_micro + u.held_micro + new.micro <= l.limit_micro;
    if not found then
      raise exception 'a budget limit is reached' using errcode = 'BL001', constraint = l.id;
    end if;
    insert into membership.budget_hold (reservation_id, limit_id, period_start) values (new.id, l.id, since);
  end loop;
  return null;
end
$$;
create trigger hold_budgets after insert on membership.reservation for each row execute function membership.hold_budgets();

create function membership.move_budgets() returns trigger language plpgsql as $$
declare
  h membership.budget_hold;
begin
  for h in select * from membership.budget_hold where reservation_id = new.id order by limit_id loop
    update membership.budget_use u set
      held_micro = u.held_micro - case when old.state = 'held' and new.state <> 'held' then old.micro else 0 end,
      used_micro = u.used_micro + coalesce(new.charged_micro, 0) - coalesce(old.charged_micro, 0)
    where u.limit_id = h.limit_id and u.period_start = h.period_start;
  end loop;
  return null;
end
$$;
create trigger move_budgets after update on membership.reservation for each row
  when (old.state is distinct from new.state or old.charged_micro is distinct from new.charged_micro)
  execute function membership.move_budgets();
