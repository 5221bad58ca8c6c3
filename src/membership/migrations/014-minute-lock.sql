-- Those below a delegation reserve beside each other, each behind a meter of its own: who counts the steps of a minute for what stands above
-- waits for whoever counts them at that moment, and then sees what they hold. Only a call that is about to be held waits.
drop function membership.held_back(text, bigint, int);
create function membership.held_back(delegation text, micro bigint, steps int, waits boolean) returns text language plpgsql as $$
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
      if waits then perform pg_advisory_xact_lock(hashtextextended('membership.minute.' || d.id, 0)); end if;
      select coalesce(sum(coalesce(r.charged_steps, r.steps)), 0) into taken from membership.reservation r
        join membership.delegation b on b.id = r.delegation_id and b.path @> array[d.id]
      where r.state <> 'released' and r.created_at > clock_timestamp() - interval '1 minute';
      if taken + steps > (d.c ->> 'per_minute_steps')::bigint then return 'per_minute_steps'; end if;
    end if;
  end loop;
  return null;
end
$$;
