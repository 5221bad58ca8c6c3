-- What a delegation hands on is lent out of it; once the one below has ended, what that neither used nor holds goes back at once, whoever
-- ends it. The meter of the one below is locked before that of the one above.
create function membership.return_lent() returns trigger language plpgsql as $$
declare
  c membership.meter;
begin
  select * into c from membership.meter where delegation_id = new.id for update;
  update membership.meter p set lent_micro = p.lent_micro - (c.limit_micro - c.used_micro - c.held_micro - c.lent_micro),
    lent_steps = p.lent_steps - (c.limit_steps - c.used_steps - c.held_steps - c.lent_steps)
  where p.delegation_id = new.parent_id;
  return null;
end
$$;
create trigger return_lent after update of status on membership.delegation for each row
  when (new.parent_id is not null and old.status in ('active', 'paused') and new.status in ('revoked', 'expired'))
  execute function membership.return_lent();

-- What was still held at the end of one that was handed on, and is not charged.
create function membership.return_held() returns trigger language plpgsql as $$
begin
  update membership.meter p set
    lent_micro = p.lent_micro - (old.used_micro + old.held_micro + old.lent_micro - new.used_micro - new.held_micro - new.lent_micro),
    lent_steps = p.lent_steps - (old.used_steps + old.held_steps + old.lent_steps - new.used_steps - new.held_steps - new.lent_steps)
  from membership.delegation d
  where d.id = new.delegation_id and d.status in ('revoked', 'expired') and p.delegation_id = d.parent_id;
  return null;
end
$$;
create trigger return_held after update on membership.meter for each row
  when (new.used_micro + new.held_micro + new.lent_micro < old.used_micro + old.held_micro + old.lent_micro
    or new.used_steps + new.held_steps + new.lent_steps < old.used_steps + old.held_steps + old.lent_steps)
  execute function membership.return_held();
