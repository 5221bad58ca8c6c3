/** Headers that say how a request is carried and read: Sallyport writes them, neither a document nor a caller does. */
export const CONNECTION_HEADERS =
  /^(?:accept|accept-encoding|connection|content-.*|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent|proxy-.*|x-correlation-id)$/i;

/** Headers by which a server takes a request for another one: of another client, method or address. */
export const ROUTING_HEADERS =
  /^(?:forwarded|x-forwarded-.*|x-real-ip|x-http-method(?:-override)?|x-method-override|x-original-url|x-rewrite-url)$/i;
