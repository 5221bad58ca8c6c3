/** An Error message of RFC 7644, 3.12. */
export const scimErrorBody = (status: number, detail: string, scimType?: string): object => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
  status: String(status),
  ...(scimType === undefined ? {} : { scimType }),
  detail,
});
