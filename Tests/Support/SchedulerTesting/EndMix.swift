package import LiveActivity
internal import Simulation

/// Ends as the planner asks for them at the end dates of groups, private and public ones. Most are of a newer
/// generation than the one before, some are of an older one that comes late.
package struct EndMix {
    private static let users = 40
    private static let groups = 5
    /// The distance of a late end, in generations.
    private static let lateness: Int64 = 101
    /// A version below all versions of real sends.
    private static let firstGeneration: Int64 = 1_700_000_000_000

    private var chance: SeededGenerator
    private var count: Int64 = 0

    package init(seed: UInt64) { chance = SeededGenerator(seed &+ 1) }

    /// Returns the next end. No two ends have the same generation.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package mutating func next(at now: Int64) -> AutomaticEnd {
        count += 1
        let isLate = chance.below(5) == 0
        return AutomaticEnd(
            app: "shop", group: "match-\(chance.below(Self.groups))",
            owner: chance.below(4) == 0 ? nil : .user("user-\(chance.below(Self.users))"),
            generation: Self.firstGeneration + 2 * count - (isLate ? Self.lateness : 0),
            endsAt: (now + Int64(chance.below(5000))) / 1000)
    }
}
