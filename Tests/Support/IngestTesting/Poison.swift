package import Simulation

/// Records of `reports` that are not valid reports.
package enum Poison {
    /// The kinds of invalid records. Nil is a tombstone.
    package static let kinds: [[UInt8]?] = [
        nil, [], Array("not JSON".utf8), Array(#"{"v":1}"#.utf8),
        Array(
            #"{"v":99,"app":"shop","environment":"production","installationId":"x","kind":"heartbeat"}"#.utf8),
        Array(#"{"v":1,"app":"shop","environment":"production","installationId":""#.utf8) + [
            0xC3, 0x28, 0x22, 0x7D,
        ],
        Array(
            #"{"v":1,"app":"shop","environment":"production","installationId":"x","kind":"startToken","token":"xyz"}"#
                .utf8),
        Array(
            #"{"v":1,"app":"unheard-of","environment":"production","installationId":"x","kind":"heartbeat"}"#
                .utf8),
        Array(repeating: 0x7B, count: 900_000),
    ]

    package static func any(_ chance: inout SeededGenerator) -> [UInt8]? {
        // The large record is rare, so that a proof does not mainly move bytes.
        chance.below(50) == 0 ? kinds[kinds.count - 1] : kinds[chance.below(kinds.count - 1)]
    }
}
