/**
 * Words that name a secret, a contact or a person. Client metrics with such a key are refused as a whole: what is never
 * taken in can never leak. Keys are compared folded.
 */

/** More than 30 marks in a row are no text of any language (UAX 15, stream-safe), and to normalise them costs their square. */
export const cutMarks = (text: string): string => text.replace(/([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu, "$1");

/** NFKC, lower case, letters and digits only: how a key is compared. */
export const foldKey = (key: string): string =>
  cutMarks(key)
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");

/** Anywhere inside a key: what it holds opens something. */
export const secretParts: readonly string[] = [
  "password",
  "passwd",
  "passphrase",
  "passcode",
  "secret",
  "token",
  "apikey",
  "accesskey",
  "privatekey",
  "signingkey",
  "credential",
  "authorization",
  "authheader",
  "cookie",
  "sessionid",
  "csrf",
  "bearer",
  "jwt",
];

/** Only as the whole key: the same. */
export const secretWords: readonly string[] = ["pin", "pwd", "pass", "otp", "totp", "auth", "cvv", "cvc", "sid"];

/** Anywhere inside a key. */
export const sensitiveParts: readonly string[] = [
  ...secretParts,
  "email",
  "phone",
  "telephone",
  "mobilenumber",
  "ipaddress",
  "postaladdress",
  "streetaddress",
  "homeaddress",
  "birthdate",
  "birthday",
  "dateofbirth",
  "placeofbirth",
  "socialsecurity",
  "creditcard",
  "cardnumber",
  "bankaccount",
  "accountnumber",
  "passport",
  "driverslicense",
  "taxid",
  "nationalid",
  "firstname",
  "lastname",
  "fullname",
  "surname",
  "givenname",
  "familyname",
  "middlename",
  "maidenname",
  "nickname",
  "username",
  "userid",
  "personid",
  "customerid",
  "employeeid",
  "salary",
];

/** Only as the whole key. */
export const sensitiveWords: readonly string[] = [
  ...secretWords,
  "name",
  "user",
  "person",
  "subject",
  "sub",
  "mail",
  "tel",
  "fax",
  "ip",
  "key",
  "ssn",
  "dob",
  "iban",
  "bic",
  "address",
  "street",
  "zip",
  "postcode",
  "gender",
  "age",
];
