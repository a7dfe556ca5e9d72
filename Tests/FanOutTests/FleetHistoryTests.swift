import Glibc
import Simulation
import Testing

/// Proves by random histories that every phone ends on the newest state of its scope.
///
/// `TEST_SEED=7` repeats a failing history by its seed.
struct FleetHistoryTests {
    @Test func `in any history every phone ends on the newest state of its scope and is started once`()
        throws
    {
        let asked = getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = asked ?? UInt64.random(in: 0...UInt64.max)
        for number in 0..<UInt64(asked == nil ? trialCount(base: 60) : 1) {
            let history = try FleetHistory(seed: seed &+ number)
            do {
                try history.run(steps: 160)
            } catch let violation as FleetHistory.Violation {
                Issue.record("seed \(seed &+ number), step \(history.steps): \(violation)")
                return
            }
        }
        print("fleet histories from seed \(seed)")
    }

    @Test func `a start that joins a recipient's separate generation keeps later states of a list`() throws {
        try FleetHistory(seed: 11_603_813_200_654_409_399, extraEvents: []).run(steps: 160)
    }

    @Test func `a list with a user in a separate generation still gives the lane the group's state`()
        throws
    {
        try FleetHistory(seed: 5_196_232_824_023_861_490, extraEvents: []).run(steps: 160)
    }

    @Test func `a list that joins a separate generation does not count as its opening`() throws {
        try FleetHistory(seed: 17_327_760_086_977_875_635, extraEvents: []).run(steps: 160)
    }

    @Test func `a start does not hide that a lane waits for an answer`() throws {
        try FleetHistory(seed: 2_375_391_917_584_070_166, extraEvents: []).run(steps: 160)
    }

    @Test(arguments: [15_666_311_846_950_401_035, 2_611_752_022_605_787_872] as [UInt64])
    func `an END by activity id holds for all activities of the user until a start by the user's name`(
        seed: UInt64
    ) throws {
        try FleetHistory(seed: seed, extraEvents: [.ownActivities, .namedActivities]).run(steps: 160)
    }

    @Test func `a phone that removes the token of an ended activity is not visited by an open walk`() throws {
        try FleetHistory(
            seed: 9_486_193_908_428_683_100, extraEvents: ExtraEvents.all.subtracting(.repeatedReports)
        ).run(steps: 160)
    }

    @Test func `an activity that an END by its id has ended late is in the next generation again`() throws {
        try FleetHistory(seed: 7_925_149_538_030_586_672).run(steps: 160)
    }
}
