import Lifecycle
import Simulation
import StageSupport
import Telemetry
import Testing

/// A broker and a machine whose clocks can be wrong, and the `ClusterClock` of a stage that observes both. Times are in
/// milliseconds since 1970.
private struct Clocks {
    static let hour: Int64 = 3_600_000

    var clock: ClusterClock
    /// The steady clock.
    var now = Instant(nanoseconds: 5_000_000_000_000)
    var trueTime: Int64 = 1_800_000_000_000
    /// The milliseconds by which the clocks are ahead of the true time.
    var brokerLead: Int64 = 0
    var machineLead: Int64 = 0

    init() { clock = ClusterClock(now: now) }

    /// The time by the timestamps of records.
    var time: Int64? { clock.time(at: now)?.milliseconds }
    /// The time that has surely passed, for what cannot be undone.
    var surelyPast: Int64? { clock.earliestTime(at: now) }
    /// The time for merging and for the age of data.
    var decisionTime: Int64? { clock.decisionTime(at: now) }

    /// Lets time pass. Each second the clock observes the machine's time and a record's timestamp.
    mutating func pass(_ milliseconds: Int64, withRecords: Bool = true) {
        var remaining = milliseconds
        while remaining > 0 {
            let step = min(remaining, 1000)
            remaining -= step
            trueTime += step
            now = now.advanced(byMilliseconds: Int(step))
            clock.observe(machineTime: trueTime + machineLead, at: now)
            if withRecords { clock.observe(stamp: trueTime + brokerLead, at: now) }
        }
    }
}

/// Tests of `ClusterClock` while the clock of the broker or of the machine steps. A wrong clock must let nothing end
/// early, and a corrected one must be believed again. `Clocks` has the true time, by which the results are judged.
@Suite struct ClockStepTests {
    @Test(arguments: [8, 49, -8] as [Int64])
    func `a broker whose clock steps for five seconds changes none of the times that decisions use`(
        hours: Int64
    ) {
        var clocks = Clocks()
        clocks.pass(120_000)
        clocks.brokerLead = hours * Clocks.hour
        for _ in 0..<5 {
            clocks.pass(1000)
            #expect(clocks.time == clocks.trueTime)
            #expect(clocks.decisionTime == clocks.trueTime)
            #expect(clocks.surelyPast == clocks.trueTime)
            // A timestamp that is behind proves nothing, because its record may have waited.
            let mustDoubt = hours > 0
            #expect(!mustDoubt || clocks.clock.doubtfulDifferenceMilliseconds > 0)
        }
        clocks.brokerLead = 0
        clocks.pass(1000)
        #expect(clocks.clock.doubtfulDifferenceMilliseconds == 0)
        clocks.pass(600_000)
        #expect(clocks.surelyPast == clocks.trueTime)
        #expect(clocks.time == clocks.trueTime)
    }

    @Test func `on one machine a step of its clock for five seconds ends nothing early`() {
        var clocks = Clocks()
        clocks.pass(120_000)
        (clocks.brokerLead, clocks.machineLead) = (8 * Clocks.hour, 8 * Clocks.hour)
        for _ in 0..<5 {
            clocks.pass(1000)
            #expect(clocks.surelyPast == clocks.trueTime)
            #expect(clocks.decisionTime == clocks.trueTime)
        }
        (clocks.brokerLead, clocks.machineLead) = (0, 0)
        clocks.pass(1000)
        #expect(clocks.surelyPast == clocks.trueTime)
        #expect(clocks.clock.doubtfulDifferenceMilliseconds == 0)
    }

    @Test func `clocks that are set right are believed after a minute`() {
        var clocks = Clocks()
        (clocks.brokerLead, clocks.machineLead) = (-2 * Clocks.hour, -2 * Clocks.hour)
        clocks.pass(120_000)
        #expect(clocks.surelyPast == clocks.trueTime - 2 * Clocks.hour)
        (clocks.brokerLead, clocks.machineLead) = (0, 0)
        clocks.pass(59_000)
        #expect(clocks.surelyPast == clocks.trueTime - 2 * Clocks.hour)
        clocks.pass(62_000)
        #expect(clocks.surelyPast == clocks.trueTime)
        #expect(clocks.decisionTime == clocks.trueTime)
    }

    @Test func `nothing is surely past before both sources were watched for a minute`() {
        var clocks = Clocks()
        clocks.pass(120_000, withRecords: false)
        #expect(clocks.surelyPast == nil, "the machine's clock alone ends nothing")
        #expect(clocks.decisionTime == clocks.trueTime)
        clocks = Clocks()
        clocks.pass(59_000)
        #expect(clocks.surelyPast == nil)
        clocks.pass(1000)
        #expect(clocks.surelyPast == clocks.trueTime)
    }

    @Test(arguments: [-48, -1, 1, 48] as [Int64])
    func `with a machine's clock that is wrong from the start, the lower time counts for what is final`(
        hours: Int64
    ) {
        var clocks = Clocks()
        clocks.machineLead = hours * Clocks.hour
        clocks.pass(120_000)
        #expect(clocks.time == clocks.trueTime)
        #expect(clocks.decisionTime == clocks.trueTime)
        #expect(clocks.surelyPast == clocks.trueTime + min(0, hours * Clocks.hour))
        #expect(clocks.clock.latestTime(at: clocks.now) == clocks.trueTime + max(0, hours * Clocks.hour))
    }

    @Test func `old records lower nothing that was known, and a backlog is read by its own time`() {
        var clocks = Clocks()
        clocks.pass(90_000)
        clocks.clock.observe(stamp: clocks.trueTime - 5 * Clocks.hour, at: clocks.now)
        #expect(clocks.time == clocks.trueTime)
        // Another stage begins with the old record.
        clocks = Clocks()
        clocks.clock.observe(machineTime: clocks.trueTime, at: clocks.now)
        clocks.clock.observe(stamp: clocks.trueTime - 5 * Clocks.hour, at: clocks.now)
        #expect(clocks.decisionTime == clocks.trueTime - 5 * Clocks.hour)
        clocks.clock.observe(stamp: clocks.trueTime, at: clocks.now)
        #expect(clocks.decisionTime == clocks.trueTime)
    }

    @Test func `one broker of three that is hours ahead is never believed`() {
        var clocks = Clocks()
        clocks.pass(60_000)
        for _ in 0..<600 {
            clocks.pass(1000)
            clocks.clock.observe(stamp: clocks.trueTime + 8 * Clocks.hour, at: clocks.now)
            #expect(clocks.time == clocks.trueTime)
        }
    }

    @Test func `a time in a record is cut off at the machine's clock`() {
        var clocks = Clocks()
        clocks.clock.observe(machineTime: clocks.trueTime, at: clocks.now)
        clocks.clock.observe(recordedTime: clocks.trueTime + 8 * Clocks.hour, at: clocks.now)
        #expect(clocks.time == clocks.trueTime)
    }

    @Test
    func
        `a clock of the machine that was behind the first stamps and steps far ahead of them is not believed`()
    {
        var clocks = Clocks()
        clocks.machineLead = -Clocks.hour
        clocks.pass(10_000)
        #expect(clocks.decisionTime == clocks.trueTime - Clocks.hour, "one source stands against the other")
        clocks.machineLead = 8 * Clocks.hour
        clocks.pass(120_000)
        #expect(clocks.decisionTime == clocks.trueTime)
    }

    @Test
    func `a clock of the machine that is set right is confirmed although the first stamp was ahead of it`() {
        var clocks = Clocks()
        clocks.machineLead = -Clocks.hour
        // The stamps are of records that waited for a minute.
        clocks.brokerLead = -60_000
        clocks.pass(10_000)
        #expect(!clocks.clock.isMachineConfirmed)
        clocks.machineLead = 0
        clocks.pass(120_000)
        #expect(clocks.clock.isMachineConfirmed)
        #expect(clocks.decisionTime == clocks.trueTime)
    }

    @Test func `with short steps of either clock, no future time ever counts as past`() {
        for seed in 0..<200 {
            var random = SeededGenerator(seed: seed)
            var clocks = Clocks()
            clocks.pass(61_000)
            for _ in 0..<30 {
                let step = Int64(random.number(below: 96)) * Clocks.hour - 48 * Clocks.hour
                switch random.number(below: 3) {
                case 0: clocks.brokerLead = step
                case 1: clocks.machineLead = step
                default: (clocks.brokerLead, clocks.machineLead) = (step, step)
                }
                clocks.pass(Int64(1000 + random.number(below: 50_000)))
                (clocks.brokerLead, clocks.machineLead) = (0, 0)
                clocks.pass(Int64(2000 + random.number(below: 200_000)))
                #expect(clocks.surelyPast.map { $0 <= clocks.trueTime } ?? true, "seed \(seed)")
            }
            clocks.pass(200_000)
            #expect(clocks.surelyPast == clocks.trueTime, "seed \(seed)")
        }
    }
}
