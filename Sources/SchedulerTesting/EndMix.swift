package import LiveActivity
internal import Simulation

/// Ends as the planner asks for them at the dates of groups: of users' own groups and of public ones, most of a
/// newer life than the one before, some of an older one that comes late.
package struct EndMix {
    private static let users = 40
    private static let groups = 5
    /// How far back a late one lies, in generations.
    private static let lateness: Int64 = 101
    /// No send has been given a version below it.
    private static let firstGeneration: Int64 = 1_700_000_000_000

    private var chance: SeededGenerator
    private var count: Int64 = 0

    package init(seed: UInt64) { chance = SeededGenerator(seed &+ 1) }

    /// No two have the same generation.
    ///
    /// - Parameter now: milliseconds since 1970.
    package mutating func next(at now: Int64) -> EndSchedule {
        count += 1
        let isLate = chance.below(5) == 0
        return EndSchedule(
            app: "shop", group: "match-\(chance.below(Self.groups))",
            owner: chance.below(4) == 0 ? nil : .user("user-\(chance.below(Self.users))"),
            generation: Self.firstGeneration + 2 * count - (isLate ? Self.lateness : 0),
            at: (now + Int64(chance.below(5000))) / 1000)
    }
}
