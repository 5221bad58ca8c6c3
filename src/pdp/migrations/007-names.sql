-- What subject and agent were called when it was decided, as the graph said: people look for names, not for ids. Null where the
-- graph said nothing.
alter table pdp.call add column subject_name text;
alter table pdp.call add column agent_name text;
