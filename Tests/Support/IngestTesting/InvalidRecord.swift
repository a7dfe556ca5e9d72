package import Simulation

/// Records of `reports` that are not valid reports.
package enum InvalidRecord {
    /// The kinds of invalid records. Nil is a tombstone.
    package static let examples: [[UInt8]?] = [
        nil, [], Array("not JSON".utf8), Array(#"{"v":1}"#.utf8),
        Array(
            #"{"v":99,"app":"shop","environment":"production","installationId":"x","kind":"heartbeat"}"#.utf8),
        // Not UTF-8: 0xC3 begins a character of two bytes, and 0x28 cannot continue it. Then a quote and a brace.
        Array(#"{"v":1,"app":"shop","environment":"production","installationId":""#.utf8) + [
            0xC3, 0x28, 0x22, 0x7D,
        ],
        Array(
            #"{"v":1,"app":"shop","environment":"production","installationId":"x","kind":"startToken","token":"xyz"}"#
                .utf8),
        Array(
            #"{"v":1,"app":"unheard-of","environment":"production","installationId":"x","kind":"heartbeat"}"#
                .utf8),
        // A large record of opening braces. `random(using:)` expects it at the end.
        Array(repeating: 0x7B, count: 900_000),
    ]

    /// Returns one of the examples.
    package static func random(using random: inout SeededGenerator) -> [UInt8]? {
        // The large record is rare, so that a proof does not mainly move bytes.
        let isLarge = random.number(below: 50) == 0
        return isLarge ? examples[examples.count - 1] : examples[random.number(below: examples.count - 1)]
    }
}
