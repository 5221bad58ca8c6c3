-- Documents that were looked at, compressed, with what each operation would be; a tenant's own, gone after a week.
create table crud.openapi_import (
  id uuid primary key,
  tenant_id text not null,
  by_sub text not null,
  doc bytea not null,
  meta jsonb not null,
  at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index openapi_import_tenant on crud.openapi_import (tenant_id, at desc);
