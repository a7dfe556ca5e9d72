import Lifecycle
import Simulation
import Telemetry
import Testing

@testable import APNs

/// Simulates hours of a provider whose wall clock is set to other times at random. APNs knows the true time, and
/// refuses a token whose `iat` is more than an hour away from it.
private struct TokenWorld {
    var random: SeededGenerator
    var policy = ProviderTokenPolicy()
    var now = Instant(nanoseconds: 0)
    /// Milliseconds by which the wall clock is ahead of the true time.
    var errorMilliseconds: Int64 = 0
    /// `iat` of the newest token, in milliseconds.
    var issuedAt: Int64 = 0
    /// When each token was made.
    var tokensMadeAt: [Instant] = []
    var refusals = 0
    /// Whether the clock is set to another time at random.
    var clockIsUnstable: Bool

    private static let tokenLifetimeMilliseconds: Int64 = 3_600_000
    private static let startMilliseconds: Int64 = 1_763_600_000_000

    init(seed: Int, clockIsUnstable: Bool) {
        random = SeededGenerator(seed: seed)
        self.clockIsUnstable = clockIsUnstable
    }

    private var trueTime: Int64 { Self.startMilliseconds + now.nanoseconds / 1_000_000 }
    private var wall: WallTime { WallTime(milliseconds: trueTime + errorMilliseconds) }

    /// Lets up to four minutes pass, and pushes.
    mutating func passTimeAndPush() {
        now = now.advanced(byMilliseconds: 1 + random.number(below: 4 * 60_000))
        if clockIsUnstable, random.number(below: 12) == 0 {
            // The clock is correct, or wrong by up to four hours.
            let isCorrect = random.number(below: 3) == 0
            errorMilliseconds = isCorrect ? 0 : Int64(random.number(below: 8 * 3_600_000)) - 4 * 3_600_000
        }
        push()
    }

    /// Pushes with the token that the policy gives, and once more if the policy replaces a refused token.
    mutating func push() {
        if policy.decide(at: now, wall: wall) == .make {
            policy.recordToken(at: now, wall: wall)
            tokensMadeAt.append(now)
            issuedAt = wall.milliseconds
        }
        guard abs(trueTime - issuedAt) > Self.tokenLifetimeMilliseconds else { return }
        refusals += 1
        if policy.handleExpired(at: now, isMisdated: policy.isClockStepped(at: now, wall: wall)) { push() }
    }

    mutating func correctClock() {
        clockIsUnstable = false
        errorMilliseconds = 0
    }

    /// The largest number of tokens made within any 20 minutes. Apple allows one.
    var tokensWithin20MinutesMax: Int {
        tokensMadeAt.map { start in
            tokensMadeAt.count {
                (0..<ProviderTokenPolicy.minimumAgeMilliseconds).contains($0.milliseconds(since: start))
            }
        }.max() ?? 0
    }
}

/// A policy beside two clocks that agree. Its times are minutes after the start.
private struct SteadyPolicy {
    private var policy = ProviderTokenPolicy()

    private static func instant(_ minute: Int) -> Instant {
        Instant(nanoseconds: Int64(minute) * 60_000_000_000)
    }

    private static func wall(_ minute: Int) -> WallTime {
        WallTime(milliseconds: 1_763_600_000_000 + Int64(minute) * 60_000)
    }

    func decision(at minute: Int) -> ProviderTokenPolicy.Decision {
        policy.decide(at: Self.instant(minute), wall: Self.wall(minute))
    }

    mutating func makeToken(at minute: Int) {
        policy.recordToken(at: Self.instant(minute), wall: Self.wall(minute))
    }

    /// APNs reports the token as expired. Returns whether the policy will replace it.
    mutating func replacesExpired(at minute: Int) -> Bool {
        policy.handleExpired(at: Self.instant(minute), isMisdated: false)
    }

    mutating func refuseUpdates(at minute: Int) { policy.handleTooMany(at: Self.instant(minute)) }
}

/// When a provider makes a token: by age, after refusals, and after steps of its clock.
@Suite struct ProviderTokenPolicyTests {
    private static let hourMilliseconds: Int64 = 3_600_000

    @Test func `a token is made once and again after fifty minutes`() {
        var policy = SteadyPolicy()
        #expect(policy.decision(at: 0) == .make)
        policy.makeToken(at: 0)
        for minute in 0..<50 { #expect(policy.decision(at: minute) == .keep) }
        #expect(policy.decision(at: 50) == .make)
    }

    @Test func `an expired token with the right date is replaced once, and never within twenty minutes`() {
        var policy = SteadyPolicy()
        policy.makeToken(at: 0)
        let isReplacedAt19 = policy.replacesExpired(at: 19)
        #expect(!isReplacedAt19 && policy.decision(at: 19) == .keep)
        let isReplacedAt20 = policy.replacesExpired(at: 20)
        #expect(isReplacedAt20 && policy.decision(at: 20) == .make)
        policy.makeToken(at: 20)
        #expect(policy.decision(at: 20) == .keep)
        let isReplacedAgain = policy.replacesExpired(at: 21)
        #expect(!isReplacedAgain, "APNs answers pushes that left with the former token")
    }

    @Test func `after too many updates the current token stays in use until Apple's limit`() {
        var policy = SteadyPolicy()
        policy.makeToken(at: 0)
        policy.refuseUpdates(at: 45)
        #expect(policy.decision(at: 55) == .keep, "after 50 minutes only the pause keeps the token")
        // The pause lasts until 65, but Apple refuses a token that is older than an hour.
        #expect(policy.decision(at: 60) == .make)
        policy.makeToken(at: 60)
        #expect(policy.decision(at: 66) == .keep, "the pause is over, and the token is young")
        #expect(policy.decision(at: 110) == .make)
    }

    @Test func `clock steps cause few tokens, and a corrected clock soon works`() {
        for seed in 0..<trialCount(base: 500) {
            var world = TokenWorld(seed: seed, clockIsUnstable: true)
            for _ in 0..<300 { world.passTimeAndPush() }
            // Apple accepts one token. Steps of the clock may cost two more.
            #expect(world.tokensWithin20MinutesMax <= 3, "seed \(seed)")
            world.correctClock()
            let corrected = world.now
            while world.now.milliseconds(since: corrected) < ProviderTokenPolicy.minimumAgeMilliseconds {
                world.passTimeAndPush()
            }
            world.refusals = 0
            for _ in 0..<100 { world.passTimeAndPush() }
            #expect(world.refusals == 0, "seed \(seed)")
        }
    }

    @Test func `a refused token with a wrong date is replaced at once if a clock disagrees, but only once`() {
        var world = TokenWorld(seed: 1, clockIsUnstable: false)
        world.push()
        // The step causes one token. The step back causes no token until the token is refused.
        world.errorMilliseconds = 2 * Self.hourMilliseconds
        world.push()
        #expect(world.tokensMadeAt.count == 2 && world.refusals == 1, "the wrong clock gives no better token")
        world.errorMilliseconds = 0
        world.push()
        #expect(world.tokensMadeAt.count == 3 && world.refusals == 2)
        world.push()
        #expect(world.tokensMadeAt.count == 3 && world.refusals == 2)
        // A second step within 20 minutes makes no token.
        world.errorMilliseconds = 2 * Self.hourMilliseconds
        world.push()
        #expect(world.tokensMadeAt.count == 3 && world.refusals == 2, "a valid token stays")
    }

    @Test func `a correct clock makes a token every fifty minutes, and no token is refused`() {
        var world = TokenWorld(seed: 1, clockIsUnstable: false)
        for _ in 0..<1_000 { world.passTimeAndPush() }
        #expect(world.refusals == 0 && world.tokensWithin20MinutesMax == 1)
        #expect(
            world.tokensMadeAt.count <= world.now.milliseconds(since: world.tokensMadeAt[0])
                / ProviderTokenPolicy.refreshMilliseconds + 1)
    }

    @Test func `a small correction of the clock makes no token`() {
        var world = TokenWorld(seed: 1, clockIsUnstable: false)
        world.push()
        // A step has a minute. This is less, and then more.
        world.errorMilliseconds = 59_000
        world.push()
        #expect(world.tokensMadeAt.count == 1)
        world.errorMilliseconds = -61_000
        world.push()
        #expect(world.tokensMadeAt.count == 2)
    }
}
