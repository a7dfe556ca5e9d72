import Glibc
import Simulation
import Testing

/// A failing history runs again by its seed alone: `TEST_SEED=7`.
struct FleetHistoryTests {
    @Test func `whatever happens, every phone ends on the newest state of its scope, and is started once`()
        throws
    {
        let asked = getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = asked ?? UInt64.random(in: 0...UInt64.max)
        for number in 0..<UInt64(asked == nil ? trials(60) : 1) {
            let history = try FleetHistory(seed: seed &+ number)
            do {
                try history.live(steps: 160)
            } catch let wrong as FleetHistory.Wrong {
                Issue.record("seed \(seed &+ number), step \(history.steps): \(wrong)")
                return
            }
        }
        print("fleet histories from seed \(seed)")
    }

    @Test func `a start that joins a recipient's own life leaves what a list was told since`() throws {
        try FleetHistory(seed: 11_603_813_200_654_409_399, happenings: []).live(steps: 160)
    }

    @Test func `a list of which one has a life of their own tells the lane the group's state all the same`()
        throws
    {
        try FleetHistory(seed: 5_196_232_824_023_861_490, happenings: []).live(steps: 160)
    }

    @Test func `a list that joins a life of one's own is not taken for what opened it`() throws {
        try FleetHistory(seed: 17_327_760_086_977_875_635, happenings: []).live(steps: 160)
    }

    @Test func `a start does not hide that somebody waits for an answer`() throws {
        try FleetHistory(seed: 2_375_391_917_584_070_166, happenings: []).live(steps: 160)
    }

    @Test(arguments: [15_666_311_846_950_401_035, 2_611_752_022_605_787_872] as [UInt64])
    func `an end that names an activity holds for all that its user has, until a start by the user's name`(
        seed: UInt64
    ) throws {
        try FleetHistory(seed: seed, happenings: [.ownActivities, .namedActivities]).live(steps: 160)
    }
}
