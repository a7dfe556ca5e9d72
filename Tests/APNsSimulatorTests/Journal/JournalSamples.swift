import APNs
import HTTP2
import Identifiers
import Payloads

@testable import APNsSimulator

/// Returns an entry as the simulator would write it. By default it is an update that APNs accepted and the phone got.
func journalEntry(
    _ number: Int, token: Int = 0, id: PushID? = nil, end: JournalEntry.Outcome? = nil,
    delivered: Bool = true,
    headers: [(String, String)] = [], body: [UInt8] = [UInt8](repeating: 7, count: 600),
    changing change: (inout RequestFacts) -> Void = { _ in }
) -> JournalEntry {
    let path = "/3/device/" + String(decoding: ScriptSamples.token(token).hex, as: UTF8.self)
    let usualFields = [
        (":method", "POST"), (":path", path), ("apns-topic", "com.example.app.push-type.liveactivity"),
        ("apns-push-type", "liveactivity"),
    ]
    var facts = RequestFacts(
        kind: .push, environment: .production, connection: 1 + number % 3, requestOfConnection: number,
        request: number, stream: Int32(truncatingIfNeeded: 2 * number + 1),
        receivedAt: 1_700_000_000_000 + Int64(number),
        target: .token(ScriptSamples.token(token)), bundleID: "com.example.app", event: .update)
    change(&facts)
    return JournalEntry(
        facts: facts,
        request: recordedRequest(usualFields + headers, body: body),
        id: id ?? PushID(high: 0, low: UInt64(number)),
        outcome: end ?? .answered(status: 200, reason: nil, isSent: true), isDelivered: delivered,
        endedAt: 1_700_000_000_005 + Int64(number))
}

/// Returns the record of a request: for each field, two lengths of two bytes (low byte first), the name and the value.
func recordedRequest(_ fields: [(String, String)], body: [UInt8]) -> RecordedRequest {
    var bytes: [UInt8] = []
    for (name, value) in fields {
        for count in [name.utf8.count, value.utf8.count] {
            bytes += [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
        }
        bytes += Array(name.utf8) + Array(value.utf8)
    }
    return RecordedRequest(fields: bytes, body: body)
}
