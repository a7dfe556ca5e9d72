// An estimate of the payload size. The server's answer has the exact size.

export const payloadBytesMax = 4096;

export function payloadBytes(send) {
  const aps = { timestamp: 1_700_000_000, event: send.event, "content-state": send.contentState };
  if (send.event === "start") {
    aps["attributes-type"] = send.attributesType;
    aps.attributes = { ...send.attributes, netmeraGroupId: send.groupId };
  }
  if (send.alert) aps.alert = send.alert;
  for (const [ours, theirs] of [["staleDate", "stale-date"], ["dismissalDate", "dismissal-date"]]) if (send[ours]) aps[theirs] = 1_700_000_000;
  if (send.relevanceScore !== undefined) aps["relevance-score"] = send.relevanceScore;
  return new TextEncoder().encode(JSON.stringify({ aps })).length;
}
