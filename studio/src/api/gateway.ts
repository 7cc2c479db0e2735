// The contract of the gateway page.

export type GatewayReport = { available: false; reason: string } | ({ available: true } & Record<string, unknown>);
