-- What holds for every writer of the graph, whichever door it comes by.
alter table membership.node add constraint node_kind_known check (kind in (
  'Person', 'Account', 'AIAgent', 'Service', 'MCPService', 'Group', 'BusinessRole', 'Location', 'Tenant', 'Resource', 'RTR', 'Policy',
  'SaaSApp', 'Tool', 'MCPResource', 'MCPPrompt', 'MCPPolicyBinding'));
alter table membership.edge add constraint edge_kind_known check (kind in (
  'BELONGS_TO', 'MEMBER_OF', 'DELEGATES_TO', 'GRANTS_ACCESS', 'HAS_RTR', 'HAS_RTR_AT', 'LOCATED_IN', 'USES_TENANT', 'POLICY_REF',
  'PROVIDES', 'PROVIDES_RESOURCE', 'OFFERS_PROMPT', 'HAS_CAPABILITY', 'CONTROLLED_BY', 'OWNS_RESOURCE', 'REQUIRES'));

create unique index node_saas_audience on membership.node (coalesce(tenant_id, ''), (props ->> 'audience')) where kind = 'SaaSApp';
-- One owner of an account, one provider of a tool, resource or prompt.
create unique index edge_one_holder on membership.edge (kind, dst)
  where kind in ('BELONGS_TO', 'PROVIDES', 'PROVIDES_RESOURCE', 'OFFERS_PROMPT');
-- One primary controller of an agent, one primary owner of a thing; of what is shared, one in each tenant.
create unique index edge_one_controller on membership.edge (src, coalesce(tenant_id, ''))
  where kind = 'CONTROLLED_BY' and props ->> 'level' = 'primary';
create unique index edge_one_owner on membership.edge (dst, coalesce(tenant_id, ''))
  where kind = 'OWNS_RESOURCE' and props ->> 'level' = 'primary';

-- Ops of a large write, until its version is known: the head is raised last, so that other writers need not wait for it.
create unlogged table membership.graph_change_draft (
  draft uuid not null,
  seq integer not null,
  op text not null,
  subject text collate "C" not null,
  src text collate "C",
  dst text collate "C",
  before jsonb,
  after jsonb,
  primary key (draft, seq)
);
