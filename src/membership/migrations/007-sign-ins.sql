-- Who a provider's subject is here.
create table membership.identity_link (
  id uuid primary key,
  issuer text collate "C" not null,
  -- as the provider names the person
  subject text collate "C" not null,
  person_id text collate "C" not null references membership.node on delete cascade,
  how text not null check (how in ('first', 'match', 'create', 'administrator')),
  made_by text not null,
  created_at timestamptz not null default now(),
  constraint identity_link_subject unique (issuer, subject)
);
create index identity_link_person on membership.identity_link (person_id);
create index node_email on membership.node (tenant_id, lower((props ->> 'email') collate "C")) where kind = 'Person' and props ? 'email';

-- Memberships that claims of a sign-in made: these alone may claims end again.
create table membership.claimed_membership (
  edge_id text collate "C" primary key references membership.edge on delete cascade
);

-- That there was a first administrator: nobody is made one so again.
create table membership.first_administrator (
  one boolean primary key default true check (one),
  person_id text not null,
  at timestamptz not null default now()
);
