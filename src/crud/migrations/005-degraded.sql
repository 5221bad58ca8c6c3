-- Objects of which it was told that their newest version, or their file, does not load; until it is told that it does.
create table crud.config_degraded (
  kind text collate "C" not null,
  name text collate "C" not null,
  primary key (kind, name)
);
