/** One employee as the demo people directory keeps and answers it. Wire names; `salary` in whole units a year. */
export interface Employee {
  readonly id: string;
  readonly name: string;
  readonly department: string;
  readonly title: string;
  readonly salary: number;
  /** ISO date. */
  readonly birth_date: string;
  readonly status: "active" | "on_leave" | "left";
  /** Systems the person has an account in. */
  readonly systems: readonly string[];
  readonly tenant: string;
  /** ISO date. */
  readonly hired_at: string;
}

const ACME = "tenant:acme";
const GLOBEX = "tenant:globex";

type Row = readonly [
  name: string,
  department: string,
  title: string,
  salary: number,
  birth: string,
  hired: string,
  tenant: string,
  systems: string,
  status?: Employee["status"],
];

/** Invented people of both demo tenants, mixed as a shared directory would hold them. Ids follow the rows: e1, e2, ... */
const rows: readonly Row[] = [
  ["Ines Albrecht", "Engineering", "Staff engineer", 128000, "1984-03-17", "2016-02-01", ACME, "mail wiki git deploy"],
  ["Tomasz Nowak", "Engineering", "Engineer", 92000, "1991-11-02", "2019-06-17", ACME, "mail wiki git"],
  ["Freya Lindqvist", "Sales", "Account executive", 78000, "1988-07-23", "2020-01-13", GLOBEX, "mail crm"],
  ["Amara Okafor", "People", "HR partner", 81000, "1990-05-09", "2018-09-03", ACME, "mail wiki hr"],
  ["Luca Moretti", "Finance", "Controller", 97000, "1982-12-30", "2015-04-20", ACME, "mail wiki ledger"],
  ["Hana Kobayashi", "Engineering", "Engineer", 94000, "1993-02-14", "2021-03-08", GLOBEX, "mail wiki git"],
  ["Oscar Brandt", "Support", "Support lead", 69000, "1986-08-11", "2017-11-06", ACME, "mail wiki desk"],
  ["Priya Raman", "Engineering", "Security engineer", 118000, "1987-01-26", "2020-08-24", ACME, "mail wiki git vault"],
  ["Jonas Petersen", "Finance", "Accountant", 64000, "1995-10-05", "2022-02-14", GLOBEX, "mail ledger"],
  ["Nadia Haddad", "Sales", "Sales director", 134000, "1979-06-18", "2014-05-12", ACME, "mail wiki crm"],
  ["Wei Zhang", "Engineering", "Data engineer", 101000, "1992-04-03", "2021-09-27", ACME, "mail wiki git warehouse"],
  ["Camille Dupont", "People", "Recruiter", 66000, "1994-09-21", "2022-06-07", GLOBEX, "mail hr"],
  ["Erik Johansson", "Support", "Support engineer", 58000, "1996-12-12", "2023-01-16", ACME, "mail desk"],
  ["Maya Cohen", "Legal", "Counsel", 122000, "1983-05-28", "2018-03-19", ACME, "mail wiki archive", "on_leave"],
  ["Daniel Fischer", "Engineering", "Engineering manager", 125000, "1981-02-08", "2016-10-10", GLOBEX, "mail wiki git deploy"],
  ["Sofia Marques", "Sales", "Account executive", 76000, "1990-11-15", "2021-05-31", ACME, "mail crm"],
  ["Yusuf Demir", "Engineering", "Engineer", 89000, "1997-07-07", "2023-08-21", ACME, "mail wiki git"],
  ["Greta Nilsen", "Support", "Support engineer", 56000, "1998-03-30", "2024-02-05", GLOBEX, "mail desk"],
  ["Adam Kowalczyk", "Operations", "Site reliability engineer", 112000, "1985-10-19", "2019-12-02", ACME, "mail wiki git deploy"],
  ["Leila Farahani", "Finance", "Payroll specialist", 62000, "1993-08-25", "2022-11-28", ACME, "mail ledger hr"],
  ["Marco Rossi", "Sales", "Sales engineer", 88000, "1989-01-04", "2023-04-11", GLOBEX, "mail crm wiki"],
  ["Ruth Abara", "Operations", "Facilities lead", 59000, "1977-09-13", "2013-07-01", ACME, "mail", "left"],
  ["Viktor Hrabal", "Engineering", "Engineer", 91000, "1994-06-06", "2024-05-20", GLOBEX, "mail wiki git"],
  ["Chiara Conti", "People", "Learning manager", 73000, "1988-04-22", "2024-09-09", ACME, "mail wiki hr"],
];

/** The directory as it is at every start: 24 employees, `e1` to `e24`. */
export const seedEmployees = (): Employee[] =>
  rows.map(([name, department, title, salary, birth_date, hired_at, tenant, systems, status = "active"], index) => ({
    id: `e${index + 1}`,
    name,
    department,
    title,
    salary,
    birth_date,
    status,
    systems: systems.split(" "),
    tenant,
    hired_at,
  }));
