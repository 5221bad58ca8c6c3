-- The change log goes back to this version; of what is older only the last word about each node and edge is kept.
alter table membership.graph_head add log_from bigint not null default 1;

-- How much of its limits was used up when somebody was last told, in percent (0, 80, 100); and whether its sums were found to be wrong, so that
-- nothing is held any more until they are right.
alter table membership.meter add told smallint not null default 0, add is_wrong boolean not null default false;
