internal import LiveActivity
internal import Simulation

/// Tokens that a test can number. A lane looks at what shares half of its hash together, so they are as far apart as
/// those of real phones.
package enum NumberedToken {
    private static let bytes = 16

    package static func hex(_ number: Int) -> String {
        var generator = SeededGenerator(number)
        return Hex.text(generator.bytes(bytes...bytes))
    }
}
