internal import Identifiers
package import Jobs
internal import Lifecycle
package import Payloads

/// A phone whose ids and tokens are derived from its number. So the jobs of a test, and its check, know the same phones
/// without a list.
package struct TestPhone: Sendable, Hashable {
    package let number: Int

    package init(number: Int) { self.number = number }

    package var installation: String { "phone-\(number)" }
    package var recipient: String { "u:user-\(number)" }

    /// Returns the registry row of the token for this event.
    package func entry(for event: PushEvent) -> String {
        event == .start ? "start:MatchAttributes" : "update:activity-\(number)"
    }

    /// Returns the token for this event: the start token, or the update token of the phone's activity.
    package func token(for event: PushEvent) -> [UInt8] {
        var random = SplitMix64(state: UInt64(number) << 1 | (event == .start ? 1 : 0))
        var bytes: [UInt8] = []
        for _ in 0..<4 {
            let word = random.next()
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }
}

extension JobLines {
    package mutating func append(_ phone: TestPhone, event: PushEvent) {
        append(
            token: Hex.encode(phone.token(for: event)).span,
            installation: Array(phone.installation.utf8).span,
            entry: Array(phone.entry(for: event).utf8).span, recipient: Array(phone.recipient.utf8).span)
    }
}
