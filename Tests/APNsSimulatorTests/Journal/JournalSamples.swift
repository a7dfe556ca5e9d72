import HTTP2
import LiveActivity

@testable import APNsSimulator

/// An entry as the simulator would write it.
func journalEntry(
    _ number: Int, token: Int = 0, id: String? = nil, end: JournalEntry.End? = nil, delivered: Bool = true
) -> JournalEntry {
    JournalEntry(
        facts: RequestFacts(
            kind: .push, environment: .production, connection: 1 + number % 3, requestOfConnection: number,
            request: number, stream: Int32(truncatingIfNeeded: 2 * number + 1),
            receivedAt: 1_700_000_000_000 + Int64(number),
            target: .token(ScriptSamples.token(token)), bundleID: "com.example.app", event: .update),
        method: "POST",
        path: "/3/device/" + String(decoding: ScriptSamples.token(token).hex, as: UTF8.self),
        headers: [
            JournalEntry.Header(name: "apns-topic", value: "com.example.app.push-type.liveactivity"),
            JournalEntry.Header(name: "apns-push-type", value: "liveactivity"),
        ], bodyBytes: 600, bodyHash: [UInt8](repeating: 7, count: 32),
        id: id ?? "00000000-0000-0000-0000-\(100_000_000_000 + number)",
        end: end ?? .answered(status: 200, reason: nil, left: true), isDelivered: delivered,
        endedAt: 1_700_000_000_005 + Int64(number))
}
