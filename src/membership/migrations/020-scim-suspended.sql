-- Whether SCIM itself switched its user off: `active: true` wakes nobody else. Whoever changes the person's state takes it back; SCIM
-- says it anew after its own change.
alter table membership.scim_resource add suspended boolean not null default false;
update membership.scim_resource r set suspended = true
  from membership.node n
  where n.id = r.id and r.type = 'User' and n.state = 'suspended' and r.document ->> 'active' = 'false'
    and coalesce((
      select c.actor from membership.graph_change_op o join membership.graph_change c on c.version = o.version
      where o.subject = r.id and o.op = 'put_node' and o.before ->> 'state' is distinct from o.after ->> 'state'
      order by o.version desc limit 1), 'service:scim:') like 'service:scim:%';

create function membership.forget_scim_suspended() returns trigger language plpgsql as $$
begin
  update membership.scim_resource set suspended = false where id = new.id and suspended;
  return null;
end $$;
create trigger forget_scim_suspended after update of state on membership.node for each row
  when (old.state is distinct from new.state and new.system = 'scim') execute function membership.forget_scim_suspended();

-- What directories said that was not done, by the token that they said it with: the newest few.
alter table membership.scim_token add problems jsonb not null default '[]';
