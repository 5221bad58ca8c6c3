import assert from "node:assert/strict";
import { connect as connectTls } from "node:tls";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { testCertificates, type Certificate, type TestCertificates } from "#testing/certificates.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { listenService } from "./listen.ts";
import { httpPeer } from "./peer.ts";
import { readTls } from "./tls-files.ts";
import { openTrustingFetch } from "./trusting-fetch.ts";

const filesOf = ({ certFile, keyFile }: Certificate, tlsCaFile?: string) => ({ tlsCertFile: certFile, tlsKeyFile: keyFile, tlsCaFile });

/** A service that shows a certificate, asked by one that believes what its settings say. */
const exchange = async (
  t: TestContext,
  shown: Certificate,
  believes: { readonly tlsCaFile?: string | undefined; readonly tlsCertFile?: string; readonly tlsKeyFile?: string },
) => {
  const { own } = await readTls(filesOf(shown));
  assert.ok(own !== undefined);
  const listening = await listenService(async (request) => new Response(`${request.method} ${await request.text()}`), {
    port: 0,
    hosts: ["127.0.0.1"],
    tls: own,
  });
  cleanUp(t, () => listening.close(0));
  const { ca } = await readTls({ tlsCertFile: undefined, tlsKeyFile: undefined, tlsCaFile: undefined, ...believes });
  const trusting = openTrustingFetch(ca);
  cleanUp(t, () => trusting[Symbol.asyncDispose]());
  const codes: string[] = [];
  const peer = httpPeer({
    baseUrl: `https://localhost:${listening.port}`,
    timeoutMs: 5000,
    unavailable: "membership_unavailable",
    send: trusting.send,
    distrusted: (code) => codes.push(code),
  });
  const answer = async () => (await peer(new Request("http://sallyport.internal/x", { method: "POST", body: "it" }))).text();
  return { answer, codes, port: listening.port };
};

const refused: readonly (readonly [
  what: string,
  shown: keyof Omit<TestCertificates, "caFile">,
  believes: "ca" | "system",
  code: string,
])[] = [
  ["its own authority", "selfSigned", "ca", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["another name", "wrongName", "ca", "ERR_TLS_CERT_ALTNAME_INVALID"],
  ["one that has expired", "expired", "ca", "CERT_HAS_EXPIRED"],
  ["an authority that only others know", "good", "system", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
];

test("services ask one another over TLS, and what a certificate lacks is said", async (t) => {
  const certificates = await testCertificates(t);
  const { caFile, good, selfSigned } = certificates;
  assert.equal(await (await exchange(t, good, { tlsCaFile: caFile })).answer(), "POST it");
  assert.equal(
    await (await exchange(t, selfSigned, filesOf(selfSigned))).answer(),
    "POST it",
    "one's own is believed where no authority is named",
  );
  for (const [what, shown, believes, code] of refused)
    await t.test(`a service with the certificate of ${what} is asked nothing`, async (inner) => {
      const { answer, codes } = await exchange(inner, certificates[shown], believes === "ca" ? { tlsCaFile: caFile } : {});
      await assert.rejects(answer(), (error: unknown) => {
        assert.ok(error instanceof Problem);
        assert.deepEqual([error.code, error.options.detail], ["membership_unavailable", `Its certificate is not trusted here (${code}).`]);
        return true;
      });
      assert.deepEqual(codes, [code]);
    });
});

test("a listener over TLS speaks nothing else, and nothing older than TLS 1.2", async (t) => {
  const { good, caFile } = await testCertificates(t);
  const { port } = await exchange(t, good, { tlsCaFile: caFile });
  const plain = await new Promise<string>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1"))).on("error", () => {});
    socket.on("close", () => resolve(text));
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  });
  assert.doesNotMatch(plain, /^HTTP\/1\.1 2/);
  const older = await new Promise<string>((resolve) => {
    const socket = connectTls({ port, host: "127.0.0.1", maxVersion: "TLSv1.1", minVersion: "TLSv1", rejectUnauthorized: false });
    socket.on("secureConnect", () => resolve("made")).on("error", () => resolve("refused"));
  });
  assert.equal(older, "refused");
});

test("files that cannot be used are all named by their variables, and why", async (t) => {
  const { good, selfSigned, caFile } = await testCertificates(t);
  const none = "/nonexistent/file.pem";
  const rows: readonly (readonly [given: Parameters<typeof readTls>[0], issues: readonly (readonly [string, RegExp])[]])[] = [
    [
      { tlsCertFile: none, tlsKeyFile: good.certFile, tlsCaFile: good.keyFile },
      [
        ["TLS_CERT_FILE", /cannot be read \(ENOENT\)/],
        ["TLS_KEY_FILE", /is no private key in PEM/],
        ["TLS_CA_FILE", /is no certificate in PEM/],
      ],
    ],
    [{ tlsCertFile: good.certFile, tlsKeyFile: selfSigned.keyFile, tlsCaFile: caFile }, [["TLS_KEY_FILE", /is not the key of/]]],
    [{ tlsCertFile: undefined, tlsKeyFile: undefined, tlsCaFile: none }, [["TLS_CA_FILE", /cannot be read/]]],
    [{ tlsCertFile: none, tlsKeyFile: undefined, tlsCaFile: undefined }, [["TLS_CERT_FILE", /cannot be read/]]],
    [{ tlsCertFile: undefined, tlsKeyFile: none, tlsCaFile: undefined }, [["TLS_KEY_FILE", /cannot be read/]]],
  ];
  for (const [given, expected] of rows)
    await assert.rejects(readTls(given), (error: unknown) => {
      assert.ok(error instanceof StartIssues);
      assert.deepEqual(
        error.issues.map(({ path }) => path),
        expected.map(([path]) => path),
      );
      for (const [at, [, message]] of expected.entries()) assert.match(error.issues[at]?.message ?? "", message);
      return true;
    });
  assert.deepEqual(await readTls({ tlsCertFile: undefined, tlsKeyFile: undefined, tlsCaFile: undefined }), {});
});
