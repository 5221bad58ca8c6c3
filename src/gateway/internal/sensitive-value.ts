/** The check digit of card numbers, so that a count or a duration is not taken for one. */
const isCardNumber = (text: string): boolean => {
  const digits = text.replace(/[ -]/g, "");
  if (!/^[0-9]{13,19}$/.test(digits)) return false;
  const sum = digits
    .split("")
    .toReversed()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
};

const shapes: readonly RegExp[] = [
  // Base64url of `{"`: a JWT, signed, encrypted or neither, cut off or whole.
  /(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{5,}/,
  /-----BEGIN [A-Z0-9 ]+-----/,
  /[^\s@]+@[^\s@]+\.[^\s@]{2,}/,
  // A header or a member that holds one, with anything in it.
  /\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?\S/i,
  /\b(?:set-)?cookie["']?\s*[:=]\s*["']?\S/i,
  /\bx-csrf-?token["']?\s*[:=]\s*["']?\S/i,
  /(?<![A-Za-z0-9])(?:access_token|refresh_token|id_token|csrf_token|client_secret|api[_-]?key|password|passwd|secret)["']?\s*[:=]\s*["']?\S/i,
  // Cookies of ours, or of anybody as careful.
  /__(?:host|secure)-[^\s=;]+\s*=/i,
  /\b\w+_(?:sid|txn)_[0-9]+\s*=/i,
  /\bdigest\s+username\s*=/i,
];

/** Words of a text, as against a token: short, letters, at most the first of them a capital. */
const WORD = /^[A-Za-z]?[a-z]{0,6}(?:'[a-z]{1,2})?$/;
const BEARER = /\bbearer(?:[\s:=+]|%20)+([A-Za-z0-9._~+/%-]+=*)/gi;

/** `Bearer` and a token, however short. "The bearer of news" is none: what follows is a word, and the text goes on. */
const hasBearer = (text: string): boolean =>
  /^\s*bearer(?:[\s:=+]|%20)+[^\s]+\s*$/i.test(text) ||
  [...text.matchAll(BEARER)].some(([, token = ""]) => !WORD.test(token.replace(/[.,;:!?]+$/, "")));

const BASIC = /\bbasic(?:\s|%20)+([A-Za-z0-9+/_-]+={0,2})/gi;
const hasColonInside = (encoded: string): boolean => /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(encoded, "base64").toString("latin1"));

/** `Basic` and what holds a name and a password: a basic plan holds none. */
const hasBasic = (text: string): boolean => [...text.matchAll(BASIC)].some(([, token = ""]) => hasColonInside(token));

/** 32 random bytes as ids of sessions, CSRF tokens, refresh tokens and client secrets are written. */
const hasOpaqueToken = (text: string): boolean =>
  (text.match(/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g) ?? []).some((run) => /[a-z]/.test(run) && /[A-Z]/.test(run));

/** True for a text that looks as if it held a credential, a card number or somebody's address, as it is or in letters that look the same. */
export const isSensitiveValue = (text: string): boolean => {
  const plain = text.normalize("NFKC");
  return (
    shapes.some((shape) => shape.test(plain)) ||
    hasBearer(plain) ||
    hasBasic(plain) ||
    hasOpaqueToken(plain) ||
    (plain.match(/[0-9][0-9 -]{11,22}[0-9]/g) ?? []).some(isCardNumber)
  );
};
