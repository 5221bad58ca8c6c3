/** How strongly a subject must sign in, by the level its directory vouches for. What is not known for sure asks for more. */
export const stepUpOf = (level: string | null): { readonly mfa_required: boolean; readonly level: string } =>
  level === "strong" || level === "phishing_resistant" ? { mfa_required: false, level } : { mfa_required: true, level: "strong" };
