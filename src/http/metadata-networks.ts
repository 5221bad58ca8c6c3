/**
 * Where clouds hand out a machine's own credentials: link-local of AWS, Azure, Google and others, Alibaba's, and AWS over IPv6. Nothing of
 * this house ever dials them.
 */
export const metadataNetworks: readonly string[] = ["169.254.0.0/16", "100.100.100.200", "fd00:ec2::254"];
