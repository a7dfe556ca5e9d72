import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import APNs

/// Hours of a provider whose wall clock is stepped at random, with an APNs that knows the true time.
private struct TokenWorld {
    var random: SeededGenerator
    var policy = ProviderTokenPolicy()
    var now = Instant(nanoseconds: 0)
    /// Error of the wall clock.
    var errorMilliseconds: Int64 = 0
    /// Time at which the clock was last stepped.
    var steppedAt = Instant(nanoseconds: 0)
    var issued: Int64 = 0
    var made: [Instant] = []
    var refused = 0
    var isStepping: Bool

    private static let began: Int64 = 1_763_600_000_000

    init(seed: Int, isStepping: Bool) {
        random = SeededGenerator(seed: seed)
        self.isStepping = isStepping
    }

    private var trueTime: Int64 { TokenWorld.began + now.nanoseconds / 1_000_000 }
    private var wall: WallTime { WallTime(milliseconds: trueTime + errorMilliseconds) }

    mutating func step() {
        now = now.advanced(byMilliseconds: 1 + random.number(below: 4 * 60_000))
        if isStepping, random.number(below: 12) == 0 {
            errorMilliseconds =
                random.number(below: 3) == 0 ? 0 : Int64(random.number(below: 8 * 3_600_000)) - 4 * 3_600_000
            steppedAt = now
        }
        push()
    }

    mutating func push() {
        if policy.decide(at: now, wall: wall) == .make {
            policy.recordToken(at: now, wall: wall)
            made.append(now)
            issued = wall.milliseconds
        }
        guard abs(trueTime - issued) > 3_600_000 else { return }
        refused += 1
        if policy.handleExpired(at: now, isMisdated: policy.isClockStepped(at: now, wall: wall)) { push() }
    }

    mutating func correctClock() {
        isStepping = false
        errorMilliseconds = 0
        steppedAt = now
    }

    /// The largest number of tokens made within any 20 minutes, Apple's limit.
    var mostWithinLeast: Int {
        made.map { one in
            made.count {
                (0..<ProviderTokenPolicy.minimumAgeMilliseconds).contains($0.milliseconds(since: one))
            }
        }.max() ?? 0
    }
}

@Suite struct ProviderTokenPolicyTests {
    @Test func `clock steps cause few tokens, and a corrected clock soon works`() {
        for seed in 0..<trialCount(base: 500) {
            var world = TokenWorld(seed: seed, isStepping: true)
            for _ in 0..<300 { world.step() }
            #expect(world.mostWithinLeast <= 3, "seed \(seed)")
            world.correctClock()
            let corrected = world.now
            while world.now.milliseconds(since: corrected) < ProviderTokenPolicy.minimumAgeMilliseconds {
                world.step()
            }
            world.refused = 0
            for _ in 0..<100 { world.step() }
            #expect(world.refused == 0, "seed \(seed)")
        }
    }

    @Test func `a refused token with a wrong date is replaced at once if a clock disagrees, but only once`() {
        var world = TokenWorld(seed: 1, isStepping: false)
        world.push()
        // The step causes one token. The step back causes no token until the token is refused.
        world.errorMilliseconds = 2 * 3_600_000
        world.push()
        #expect(world.made.count == 2 && world.refused == 1, "the wrong clock gives no better token")
        world.errorMilliseconds = 0
        world.push()
        #expect(world.made.count == 3 && world.refused == 2)
        world.push()
        #expect(world.made.count == 3 && world.refused == 2)
        world.errorMilliseconds = 2 * 3_600_000
        world.push()
        #expect(world.made.count == 3 && world.refused == 2, "a good token stays")
    }

    @Test func `a correct clock makes a token every fifty minutes, and no token is refused`() {
        var world = TokenWorld(seed: 1, isStepping: false)
        for _ in 0..<1_000 { world.step() }
        #expect(world.refused == 0 && world.mostWithinLeast == 1)
        #expect(world.made.count <= world.now.milliseconds(since: world.made[0]) / 3_000_000 + 1)
    }

    @Test func `a small correction of the clock makes no token`() {
        var world = TokenWorld(seed: 1, isStepping: false)
        world.push()
        world.errorMilliseconds = 59_000
        world.push()
        #expect(world.made.count == 1)
        world.errorMilliseconds = -61_000
        world.push()
        #expect(world.made.count == 2)
    }
}
