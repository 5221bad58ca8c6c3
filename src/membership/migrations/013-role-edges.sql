-- Who has a role on something has it by an edge that only names the role: a role that goes takes those with it.
create index edge_role_at on membership.edge (discr) where kind = 'HAS_RTR_AT';
delete from membership.edge e where e.kind = 'HAS_RTR_AT' and not exists (select 1 from membership.node r where r.id = e.discr and r.kind = 'RTR');
