-- Requests that a denial be lifted, and the approvals that came of them. What was sent with the denied question is here as
-- digests alone; a secret is named by its reference.
create table pdp.request (
  id text collate "C" primary key,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  subject_name text,
  agents text[] not null,
  agent_name text,
  requester text collate "C" not null,
  action text not null,
  resource_type text not null,
  resource_id text,
  resource_ref text,
  evaluation_id text collate "C" not null,
  policy_version text not null,
  act_digest text collate "C" not null,
  binding_digest text collate "C" not null,
  definition text,
  delegation_id text,
  template text not null,
  approver_rule text not null,
  approvers text[] not null,
  -- Persons who were told that they may answer.
  told text[] not null,
  justification text,
  status text not null check (status in ('pending', 'approved', 'denied', 'expired', 'cancelled', 'failed')),
  failure text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  valid_minutes int not null,
  single_use boolean not null,
  answered_at timestamptz,
  answered_by text collate "C",
  answered_name text,
  comment text,
  approval_id text collate "C" unique,
  approved_until timestamptz,
  used_by text collate "C",
  voided_at timestamptz,
  void_reason text,
  idem_key text collate "C" not null,
  body_digest text not null,
  unique (tenant, requester, idem_key),
  check ((status = 'approved') = (approval_id is not null)),
  check ((approval_id is null) = (approved_until is null))
);
-- Nobody is asked twice for the same while the first question is open.
create unique index request_pending on pdp.request (tenant, requester, binding_digest) where status = 'pending';
create index request_live on pdp.request (tenant, subject) where status = 'approved' and used_by is null and voided_at is null;
create index request_by_requester on pdp.request (tenant, requester, id desc);
create index request_by_subject on pdp.request (tenant, subject, id desc);
create index request_by_approver on pdp.request using gin (approvers);
create index request_open on pdp.request (expires_at) where status = 'pending';
