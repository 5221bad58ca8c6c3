-- What a delegation allows of one call and of a minute, and at which hours; those above it hold too. Names the member that says no, or null.
-- Each query sees what has been committed when it runs: whoever holds the meter's lock sees the calls that held it before.
create function membership.held_back(delegation text, micro bigint, steps int) returns text language plpgsql as $$
declare
  d record;
  local timestamp;
  opens time;
  closes time;
  is_open boolean;
  taken bigint;
begin
  for d in
    select p.id, p.constraints as c from membership.delegation p
    join membership.delegation x on x.id = delegation and p.id = any(x.path) where p.constraints <> '{}'::jsonb order by cardinality(p.path)
  loop
    if micro > (d.c ->> 'per_call_usd')::numeric * 1000000 then return 'per_call_usd'; end if;
    if d.c ? 'hours' then
      local := clock_timestamp() at time zone (d.c #>> '{hours,tz}');
      opens := d.c #>> '{hours,from}';
      closes := d.c #>> '{hours,to}';
      is_open := (case when opens < closes then local::time >= opens and local::time < closes else local::time >= opens or local::time < closes end);
      -- A night belongs to the day that it began on.
      if closes <= opens and local::time < closes then local := local - interval '1 day'; end if;
      if not (d.c #> '{hours,days}') ? to_char(local, 'dy') then return 'hours'; end if;
      if not is_open then return 'hours'; end if;
    end if;
    if d.c ? 'per_minute_steps' then
      select coalesce(sum(coalesce(r.charged_steps, r.steps)), 0) into taken from membership.reservation r
        join membership.delegation b on b.id = r.delegation_id and b.path @> array[d.id]
      where r.state <> 'released' and r.created_at > clock_timestamp() - interval '1 minute';
      if taken + steps > (d.c ->> 'per_minute_steps')::bigint then return 'per_minute_steps'; end if;
    end if;
  end loop;
  return null;
end
$$;

-- A zone that this database does not know is refused when it is written, not at the next call.
alter table membership.delegation add constraint delegation_hours
  check (timezone(coalesce(constraints #>> '{hours,tz}', 'UTC'), timestamptz '2026-01-01T00:00:00Z') is not null);
