#!/bin/sh
# Run in the folder of Keycloak: lets the agent hr-assistant sign people in by itself and call tools for them.
set -eu
KC=bin/kcadm.sh
$KC config credentials --server http://localhost:18080 --realm master --user admin --password admin
for SCOPE in mcp.tools.discovery mcp.tools.invoke; do
  $KC create client-scopes -r sallyport -s name=$SCOPE -s protocol=openid-connect \
    -s 'attributes."include.in.token.scope"=true' -s 'attributes."display.on.consent.screen"=true'
done
SCOPE_ID=$($KC get client-scopes -r sallyport --fields id,name --format csv --noquotes | grep ',mcp.tools.invoke$' | cut -d, -f1)
$KC create client-scopes/$SCOPE_ID/protocol-mappers/models -r sallyport -s name=mcp-audience -s protocol=openid-connect \
  -s protocolMapper=oidc-audience-mapper -s 'config."included.custom.audience"=http://localhost:8080/mcp' -s 'config."access.token.claim"=true'
$KC create clients -r sallyport -f - <<'JSON'
{"clientId": "agent:hr-assistant", "secret": "change-me-too", "standardFlowEnabled": true, "directAccessGrantsEnabled": true,
 "redirectUris": ["http://localhost:6274/oauth/callback"], "defaultClientScopes": ["basic", "acr"],
 "optionalClientScopes": ["mcp.tools.discovery", "mcp.tools.invoke"],
 "protocolMappers": [
  {"name": "sallyport_id", "protocol": "openid-connect", "protocolMapper": "oidc-usermodel-attribute-mapper",
   "config": {"user.attribute": "sallyport_id", "claim.name": "sallyport_id", "jsonType.label": "String", "access.token.claim": "true"}},
  {"name": "tenant", "protocol": "openid-connect", "protocolMapper": "oidc-usermodel-attribute-mapper",
   "config": {"user.attribute": "tenant", "claim.name": "tenant", "jsonType.label": "String", "access.token.claim": "true"}}]}
JSON
