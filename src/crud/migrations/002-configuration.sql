-- Every version of every configuration object: the bytes as they came (null: the object was taken away), the files that they refer to, and
-- the tenants that it serves (null: all).
create table crud.config_version (
  kind text collate "C" not null,
  name text collate "C" not null,
  version int not null,
  text text,
  refs jsonb not null default '{}',
  digest text not null,
  tenants text[],
  author text not null,
  reason text not null,
  at timestamptz not null default clock_timestamp(),
  restored_from int,
  primary key (kind, name, version)
);

-- The version in force of each object, and the digest of the file that was last taken from a configuration folder. `changed` is the set's
-- version that put it in force: whoever knows the set at 7 reads what changed since 7.
create table crud.config_head (
  kind text collate "C" not null,
  name text collate "C" not null,
  version int not null,
  taken text,
  changed bigint not null,
  primary key (kind, name),
  foreign key (kind, name, version) references crud.config_version
);
create index config_head_changed on crud.config_head (changed);

-- Raised by each change; its row is locked until the commit, so that nobody sees a later change without the earlier one.
create table crud.config_set (
  id int primary key check (id = 1),
  version bigint not null
);
insert into crud.config_set (id, version) values (1, 0);
