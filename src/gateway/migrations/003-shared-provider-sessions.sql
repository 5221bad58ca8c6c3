-- Where a refresh token came from: revoking it may end that session of the provider, on which others of ours may live.
alter table gateway.revocation
  add column issuer text,
  add column idp_sid text,
  add column idp_sub text;

create index revocation_of_person on gateway.revocation (issuer, idp_sub);
