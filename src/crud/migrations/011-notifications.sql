-- Who chose whether mail is sent to them; a person without a row gets it.
create table crud.notification_choice (
  tenant text collate "C" not null,
  person text collate "C" not null,
  mail boolean not null,
  primary key (tenant, person)
);
