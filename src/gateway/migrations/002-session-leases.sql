-- One refresh of a session at a time, in all processes: who does it, and until when nobody else may. An owner that is
-- still named after its time may have spent the refresh token without hearing the answer.
alter table gateway.session
  add column refresh_owner text,
  add column refresh_lease_until timestamptz,
  -- The provider's own name of the person, where it differs from ours: logout tokens name it.
  add column idp_sub text;

create index session_of_provider on gateway.session (issuer, idp_sid);
create index session_of_provider_subject on gateway.session (issuer, idp_sub);
create index session_newest on gateway.session (tenant, created_at desc, ref);
