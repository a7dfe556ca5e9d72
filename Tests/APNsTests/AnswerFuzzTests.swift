import APNs
import JSON
import Simulation
import Testing

/// Error bodies from a broken or hostile peer.
@Suite struct AnswerFuzzTests {
    private static let validBodies: [String] = [
        #"{"reason":"Unregistered","timestamp":1763600000123}"#, #"{"reason":"BadDeviceToken"}"#,
        #"{"reason":"TooManyRequests","retry":[1,{"a":null}]}"#, "{}", "", "null",
    ]

    /// Returns a valid body with some bytes changed, removed, repeated or inserted.
    private func mutatedBody(using random: inout SeededGenerator) -> [UInt8] {
        var body = Array(Self.validBodies.randomElement(using: &random)!.utf8)
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            let position = Int.random(in: 0...body.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where position < body.count: body[position] = .random(in: .min ... .max, using: &random)
            case 1 where position < body.count: body.remove(at: position)
            case 2: body.insert(.random(in: .min ... .max, using: &random), at: position)
            default: body.append(contentsOf: body.prefix(position))
            }
        }
        if Int.random(in: 0..<50, using: &random) == 0 {
            body += [UInt8](repeating: UInt8(ascii: "["), count: Int.random(in: 0...10_000, using: &random))
        }
        return body
    }

    // A reason text becomes a label of a metric, so it must be short and printable ASCII.
    @Test func `damaged bodies cost no token and give no reason text that is unsafe in a label`() {
        for seed in 0..<trialCount(base: 20_000) {
            var random = SeededGenerator(seed: seed)
            let body = mutatedBody(using: &random)
            let status = Int.random(in: 100...599, using: &random)
            let answer = APNsResponse(status: status, body: body, with: JSONReader())
            if let text = answer.reasonText {
                #expect(text.utf8.count <= 64 && text.utf8.allSatisfy { $0 < 0x7F && $0 >= 0x20 })
            }
            if answer.reason == nil {
                #expect(
                    answer.disposition != .tokenGone && answer.disposition != .tokenSuspect,
                    "seed \(seed), status \(status)")
            }
        }
    }
}
