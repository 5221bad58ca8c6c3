import assert from "node:assert/strict";
import { test } from "node:test";
import { addressIssue } from "./address-issue.ts";

for (const good of [
  "http://localhost:8083",
  "https://crud.example/base",
  "http://10.0.0.7:80",
  "http://[::1]:8083",
  "http://127.0.0.1:8090/",
])
  test(`${good} is an upstream's address`, () => assert.equal(addressIssue(good), undefined));

for (const bad of [
  "crud:8083",
  "ftp://h",
  "file:///etc/passwd",
  "http://u:p@h",
  "http://u@h",
  "http://h/?a=b",
  "http://h/?",
  "http://h/#x",
  "http://169.254.169.254",
  "http://2852039166",
  "http://0xa9fea9fe",
  "http://0251.0376.0251.0376",
  "http://169.254.43518",
  "http://[::ffff:a9fe:a9fe]",
  "http://[::ffff:169.254.169.254]",
  "http://[fe80::1]",
  "http://[fd00:ec2::254]",
  "http://0.0.0.0",
  "http://0",
  "http://metadata.google.internal/",
  "http://METADATA.google.internal./",
])
  test(`${bad} is refused`, () => assert.notEqual(addressIssue(bad), undefined));
