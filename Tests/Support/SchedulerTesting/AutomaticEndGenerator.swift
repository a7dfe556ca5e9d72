internal import Identifiers
package import Schedules
internal import Simulation

/// Ends as the planner asks for them at the end dates of groups, private and public ones. Most are of a newer
/// generation than the one before, some are of an older one that comes late.
package struct AutomaticEndGenerator {
    private static let userCount = 40
    private static let groupCount = 5
    /// The distance of a late end, in generations.
    private static let lateGenerations: Int64 = 101
    /// A version below all versions of real sends.
    private static let firstGeneration: Int64 = 1_700_000_000_000

    private var random: SeededGenerator
    private var count: Int64 = 0

    package init(seed: UInt64) { random = SeededGenerator(seed: seed &+ 1) }

    /// Returns the next end. No two ends have the same generation.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package mutating func next(at now: Int64) -> AutomaticEnd {
        count += 1
        let isLate = random.number(below: 5) == 0
        return AutomaticEnd(
            app: "shop", group: "match-\(random.number(below: Self.groupCount))",
            owner: random.number(below: 4) == 0 ? nil : .user("user-\(random.number(below: Self.userCount))"),
            generation: Self.firstGeneration + 2 * count - (isLate ? Self.lateGenerations : 0),
            endsAt: (now + Int64(random.number(below: 5000))) / 1000)
    }
}
