-- A link holds for the tenant of its person alone: no tenant takes a subject from another one's people.
alter table membership.identity_link add tenant_id text collate "C";
update membership.identity_link l set tenant_id = n.tenant_id from membership.node n where n.id = l.person_id;
alter table membership.identity_link
  alter tenant_id set not null,
  drop constraint identity_link_subject,
  add constraint identity_link_subject unique (issuer, subject, tenant_id);
