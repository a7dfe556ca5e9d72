import Lifecycle
import Simulation
import StageSupport
import Telemetry
import Testing

/// A cluster and a machine whose clocks step, and the one clock that every stage decides by.
private struct Clocks {
    static let hour: Int64 = 3_600_000

    var clock: ClusterClock
    var now = Instant(nanoseconds: 5_000_000_000_000)
    var right: Int64 = 1_800_000_000_000
    /// The milliseconds by which the clocks are ahead.
    var broker: Int64 = 0
    var machine: Int64 = 0

    init() { clock = ClusterClock(now: now) }

    var time: Int64? { clock.time(at: now)?.milliseconds }
    var past: Int64? { clock.earliestTime(at: now) }
    var decision: Int64? { clock.decisionTime(at: now) }

    /// Time passes, with a look at the machine's clock and a record each second.
    mutating func pass(_ milliseconds: Int64, withRecords: Bool = true) {
        var left = milliseconds
        while left > 0 {
            let step = min(left, 1000)
            left -= step
            right += step
            now = now.advanced(byMilliseconds: Int(step))
            clock.observe(machineTime: right + machine, at: now)
            if withRecords { clock.observe(stamp: right + broker, at: now) }
        }
    }
}

@Suite struct ClockStepTests {
    @Test(arguments: [8, 49, -8] as [Int64])
    func `a broker whose clock steps for five seconds changes no time that is decided by`(hours: Int64) {
        var clocks = Clocks()
        clocks.pass(120_000)
        clocks.broker = hours * Clocks.hour
        for _ in 0..<5 {
            clocks.pass(1000)
            #expect(clocks.time == clocks.right)
            #expect(clocks.decision == clocks.right)
            #expect(clocks.past == clocks.right)
            #expect(clocks.clock.doubtfulDifferenceMilliseconds > 0 || hours < 0)
        }
        clocks.broker = 0
        clocks.pass(1000)
        #expect(clocks.clock.doubtfulDifferenceMilliseconds == 0)
        clocks.pass(600_000)
        #expect(clocks.past == clocks.right && clocks.time == clocks.right)
    }

    @Test func `on one machine a step of its clock for five seconds ends nothing early`() {
        var clocks = Clocks()
        clocks.pass(120_000)
        (clocks.broker, clocks.machine) = (8 * Clocks.hour, 8 * Clocks.hour)
        for _ in 0..<5 {
            clocks.pass(1000)
            #expect(clocks.past == clocks.right)
            #expect(clocks.decision == clocks.right)
        }
        (clocks.broker, clocks.machine) = (0, 0)
        clocks.pass(1000)
        #expect(clocks.past == clocks.right)
        #expect(clocks.clock.doubtfulDifferenceMilliseconds == 0)
    }

    @Test func `clocks that are set right are believed after a minute`() {
        var clocks = Clocks()
        (clocks.broker, clocks.machine) = (-2 * Clocks.hour, -2 * Clocks.hour)
        clocks.pass(120_000)
        #expect(clocks.past == clocks.right - 2 * Clocks.hour)
        (clocks.broker, clocks.machine) = (0, 0)
        clocks.pass(59_000)
        #expect(clocks.past == clocks.right - 2 * Clocks.hour)
        clocks.pass(62_000)
        #expect(clocks.past == clocks.right)
        #expect(clocks.decision == clocks.right)
    }

    @Test func `nothing is surely past before both sources were watched for a minute`() {
        var clocks = Clocks()
        clocks.pass(120_000, withRecords: false)
        #expect(clocks.past == nil, "the machine's clock alone ends nothing")
        #expect(clocks.decision == clocks.right)
        clocks = Clocks()
        clocks.pass(59_000)
        #expect(clocks.past == nil)
        clocks.pass(1000)
        #expect(clocks.past == clocks.right)
    }

    @Test(arguments: [-48, -1, 1, 48] as [Int64])
    func `with a machine's clock that is wrong from the start, the lower time counts for what is final`(
        hours: Int64
    ) {
        var clocks = Clocks()
        clocks.machine = hours * Clocks.hour
        clocks.pass(120_000)
        #expect(clocks.time == clocks.right)
        #expect(clocks.decision == clocks.right)
        #expect(clocks.past == clocks.right + min(0, hours * Clocks.hour))
        #expect(clocks.clock.latestTime(at: clocks.now) == clocks.right + max(0, hours * Clocks.hour))
    }

    @Test func `old records lower nothing that was known, and a backlog is read by its own time`() {
        var clocks = Clocks()
        clocks.pass(90_000)
        clocks.clock.observe(stamp: clocks.right - 5 * Clocks.hour, at: clocks.now)
        #expect(clocks.time == clocks.right)
        clocks = Clocks()
        clocks.clock.observe(machineTime: clocks.right, at: clocks.now)
        clocks.clock.observe(stamp: clocks.right - 5 * Clocks.hour, at: clocks.now)
        #expect(clocks.decision == clocks.right - 5 * Clocks.hour)
        clocks.clock.observe(stamp: clocks.right, at: clocks.now)
        #expect(clocks.decision == clocks.right)
    }

    @Test func `one broker of three that is hours ahead is never believed`() {
        var clocks = Clocks()
        clocks.pass(60_000)
        for _ in 0..<600 {
            clocks.pass(1000)
            clocks.clock.observe(stamp: clocks.right + 8 * Clocks.hour, at: clocks.now)
            #expect(clocks.time == clocks.right)
        }
    }

    @Test func `a time in a record is cut off at the machine's clock`() {
        var clocks = Clocks()
        clocks.clock.observe(machineTime: clocks.right, at: clocks.now)
        clocks.clock.observe(recordedTime: clocks.right + 8 * Clocks.hour, at: clocks.now)
        #expect(clocks.time == clocks.right)
    }

    @Test func `with short steps of either clock, nothing is ever past that is not`() {
        for seed in 0..<200 {
            var random = SeededGenerator(seed: seed)
            var clocks = Clocks()
            clocks.pass(61_000)
            for _ in 0..<30 {
                let step = Int64(random.number(below: 96)) * Clocks.hour - 48 * Clocks.hour
                switch random.number(below: 3) {
                case 0: clocks.broker = step
                case 1: clocks.machine = step
                default: (clocks.broker, clocks.machine) = (step, step)
                }
                clocks.pass(Int64(1000 + random.number(below: 50_000)))
                (clocks.broker, clocks.machine) = (0, 0)
                clocks.pass(Int64(2000 + random.number(below: 200_000)))
                #expect(clocks.past.map { $0 <= clocks.right } ?? true, "seed \(seed)")
            }
            clocks.pass(200_000)
            #expect(clocks.past == clocks.right, "seed \(seed)")
        }
    }
}
