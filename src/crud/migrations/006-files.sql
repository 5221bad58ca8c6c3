-- A version whose file is still to be written, where the configuration folder is the truth: a process that is killed in between writes it at its next start.
alter table crud.config_head add column unwritten boolean not null default false;
