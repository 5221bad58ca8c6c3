-- Each change of a rule gets a number that none had before: whoever keeps rules in memory knows them by count and sum of these.
create sequence membership.data_scope_rule_rev start 1000;
