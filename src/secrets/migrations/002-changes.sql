-- What the house last changed of each secret, by its URI without key and version: who did it, and a stamp that no other change has.
-- changing_until: a change is under way, or its end is not known; until then nobody may take a kept value for the present one.
create sequence secrets.change_stamp;
create table secrets.change (
  uri text primary key,
  tenant text not null,
  stamp bigint not null,
  changing_until timestamptz,
  updated_by text,
  updated_at timestamptz,
  rotated_at timestamptz,
  version bigint
);
