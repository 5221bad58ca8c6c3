import { Resources, Schemas } from "scimmy";

/** What is understood of SCIM, and how it is described: the library's schemas without what means nothing here. */

export type ScimType = "User" | "Group";
/** A resource as JSON. */
export type ScimDocument = Readonly<Record<string, unknown>>;

// A password is the provider's affair, a role is given by administrators alone, the others nobody reads.
Schemas.User.truncate(["password", "roles", "entitlements", "x509Certificates", "photos", "ims"]);
// The declaration asks for an instance where the library takes the class.
Schemas.User.extend(Schemas.EnterpriseUser as never, false);
Resources.declare(Resources.User);
Resources.declare(Resources.Group);

export const schemaClasses = { User: Schemas.User, Group: Schemas.Group } as const;
export const endpoints = { User: "/Users", Group: "/Groups" } as const;

export const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
export const listOf = (items: readonly object[], total = items.length, startIndex = 1): object => ({
  schemas: [LIST],
  totalResults: total,
  startIndex,
  itemsPerPage: items.length,
  Resources: items,
});

/** Most resources of one page, and how many unless asked. */
export const MAX_RESULTS = 200;

export const serviceProviderConfig = (base: string): object => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "A token that an administrator made for this directory.",
      primary: true,
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
});

const described = (): readonly { readonly id: string }[] => [
  ...Object.values(schemaClasses).map(({ definition }) => definition),
  Schemas.EnterpriseUser.definition,
];

export const schemaList = (base: string): readonly object[] =>
  Object.values(described()).map((definition) => (definition as unknown as { describe(path: string): object }).describe(`${base}/Schemas`));

export const resourceTypes = (base: string): readonly (object & { readonly id: string })[] =>
  [Resources.User, Resources.Group].map((resource) => {
    const { id, name, endpoint, description, schema, schemaExtensions } = resource.describe() as ReturnType<typeof resource.describe> & {
      readonly schema: string;
    };
    return {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
      id,
      name,
      endpoint,
      description,
      schema,
      ...(schemaExtensions === undefined ? {} : { schemaExtensions }),
      meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
    };
  });
