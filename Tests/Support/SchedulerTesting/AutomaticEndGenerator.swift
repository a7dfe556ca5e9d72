internal import Identifiers
package import Schedules
internal import Simulation

/// A generator of the records by which the planner requests the END of a group at its end date. The groups are private
/// and public. Most records are of a newer generation than the one before, some are of an older one that comes late.
package struct AutomaticEndGenerator {
    private static let userCount = 40
    private static let groupCount = 5
    /// The distance of a late record in generations. It is odd, and other records have even generations, so no two
    /// records have the same generation.
    private static let lateGenerations: Int64 = 101
    /// The generations count up from here. They are above those of real sends, which are seconds since 1970.
    private static let firstGeneration: Int64 = 1_700_000_000_000
    /// The time from now until an end date is shorter than this.
    private static let delayMillisecondsMax = 5000

    private var random: SeededGenerator
    private var count: Int64 = 0

    package init(seed: UInt64) { random = SeededGenerator(seed: seed &+ 1) }

    /// Returns the next request. No two requests have the same generation.
    ///
    /// - Parameter now: The time in milliseconds since 1970.
    package mutating func next(at now: Int64) -> AutomaticEnd {
        count += 1
        let isLate = random.number(below: 5) == 0
        return AutomaticEnd(
            app: "shop", group: "match-\(random.number(below: Self.groupCount))",
            owner: random.number(below: 4) == 0 ? nil : .user("user-\(random.number(below: Self.userCount))"),
            generation: Self.firstGeneration + 2 * count - (isLate ? Self.lateGenerations : 0),
            endsAt: (now + Int64(random.number(below: Self.delayMillisecondsMax))) / 1000)
    }
}
