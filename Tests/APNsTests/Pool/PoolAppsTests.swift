import Lifecycle
import Simulation
import Testing

@testable import APNs

/// Several apps of one process. They share only the host's connect budget.
@Suite struct PoolAppsTests {
    private static let roundMilliseconds = 50
    /// Time after which an attempt to connect to a host that does not answer fails.
    private static let connectTimeoutMilliseconds = 10_000

    /// Returns the number of requests of an app that are answered in a minute, beside `blackHoles` apps whose server
    /// never answers.
    private func answeredCount(seed: Int, blackHoles: Int) -> Int {
        var app = PoolWorld(seed: seed)
        app.isCalm = true
        var holes = (0..<blackHoles).map { index in
            var hole = PoolWorld(seed: seed + 1_000 * (index + 1))
            hole.isCalm = true
            hole.isBlackHole = true
            hole.poolNumber = UInt64(index) + 2
            return hole
        }
        var submitted: [Int] = []
        for round in 0..<60_000 / Self.roundMilliseconds {
            submitted += submitAndRun(count: 3, in: &app)
            for index in holes.indices {
                // The budget is a value, so the worlds pass it on.
                holes[index].budget = app.budget
                _ = submitAndRun(count: 3, in: &holes[index])
                let connectTimesOut =
                    round * Self.roundMilliseconds % Self.connectTimeoutMilliseconds == 0
                if connectTimesOut {
                    for number in holes[index].links.keys.sorted() { holes[index].close(number) }
                }
                app.budget = holes[index].budget
            }
        }
        #expect(app.brokenRules.isEmpty && holes.allSatisfy { $0.brokenRules.isEmpty }, "seed \(seed)")
        return submitted.count { app.requests[$0]?.end == .answered }
    }

    /// Submits requests, and runs the world for one round.
    private func submitAndRun(count: Int, in world: inout PoolWorld) -> [Int] {
        let deadlines = PushDeadlines(deadline: world.now.advanced(byMilliseconds: 5_000))
        let submitted = (0..<count).compactMap { _ in world.submit(deadlines) }
        world.send()
        world.run(milliseconds: Self.roundMilliseconds)
        return submitted
    }

    // Each world has its own random server, which may by chance allow few streams. So the test compares sums over many
    // seeds. The loss is the connects that the other apps take from the budget.
    @Test func `apps whose server never answers cost another app at most 15 % of its answers`() {
        var alone = 0
        var besideOthers = 0
        for seed in 0..<trialCount(base: 20) {
            alone += answeredCount(seed: seed, blackHoles: 0)
            besideOthers += answeredCount(seed: seed, blackHoles: 4)
        }
        #expect(besideOthers * 100 >= alone * 85, "\(besideOthers) answers beside them, \(alone) alone")
    }
}
