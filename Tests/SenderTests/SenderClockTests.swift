import Lifecycle
import Simulation
import Testing

@testable import Sender

private let dayMilliseconds = 86_400_000

/// A cluster whose timestamps are right, and a sender whose machine has its clock set at random.
private struct ClockWorld {
    /// The largest delay from the timestamp of a stored record to its acknowledgement.
    static let acknowledgementMilliseconds = 40

    var random: SeededGenerator
    var clock: SenderClock
    /// The cluster's time, in milliseconds since 1970.
    var clusterTime: Int64 = 1_763_600_000_000
    /// The time by which the machine's clock is ahead of the cluster's.
    var errorMilliseconds: Int64 = 0
    /// The steady clock.
    var now = Instant(nanoseconds: 5_000_000_000)
    /// Whether the cluster has acknowledged a record of the sender.
    var hasStoredRecord = false
    /// The newest timestamp of a record that was read.
    var newestReadStamp: Int64 = 0

    init(seed: Int) {
        random = SeededGenerator(seed: seed)
        clock = SenderClock(now: now)
    }

    var machineTime: Int64 { clusterTime + errorMilliseconds }
    var estimatedTime: Int64 { clock.estimatedTime(machineTime: machineTime, at: now) }
    var latestPassedTime: Int64 { clock.latestPassedTime(machineTime: machineTime, at: now) }

    /// An event after which the clock's answers are checked.
    enum Event: CaseIterable {
        case machineClockIsSetWrong, machineClockIsSetRight
        case youngRecordIsRead, oldRecordIsRead
        case recordIsStored
    }

    /// Lets a random time pass, and then one of these events happen.
    mutating func step(with events: [Event]) {
        let isLong = random.number(below: 8) == 0
        let milliseconds = random.number(below: isLong ? 200_000 : 2_000)
        now = now.advanced(byMilliseconds: milliseconds)
        clusterTime += Int64(milliseconds)
        switch events[random.number(below: events.count)] {
        case .machineClockIsSetWrong:
            errorMilliseconds = Int64(random.number(below: 4 * dayMilliseconds) - 2 * dayMilliseconds)
        case .machineClockIsSetRight: errorMilliseconds = 0
        case .youngRecordIsRead: readRecord(ageMillisecondsMax: 50)
        case .oldRecordIsRead: readRecord(ageMillisecondsMax: 3 * dayMilliseconds)
        case .recordIsStored:
            hasStoredRecord = true
            let delay = Int64(random.number(below: Self.acknowledgementMilliseconds))
            clock.noteStored(stamp: clusterTime - delay, at: now)
        }
    }

    private mutating func readRecord(ageMillisecondsMax: Int) {
        let stamp = clusterTime - Int64(random.number(below: ageMillisecondsMax))
        newestReadStamp = max(newestReadStamp, stamp)
        clock.noteRead(stamp: stamp, at: now)
    }
}

/// Tests of the sender's clock. It follows the timestamps of the records that the sender has stored, although the
/// machine's clock may be wrong by days. Before the first such record it has two answers: `estimatedTime` is the later
/// one of the machine's time and the newest record that was read, and `latestPassedTime` is the earlier one of the two,
/// so that nothing expires too early.
@Suite struct SenderClockTests {
    private static let start = Instant(nanoseconds: 0)
    private static let later = start.advanced(byMilliseconds: 1_000)
    private static let machineTime: Int64 = 1_763_600_000_000

    @Test func `before a record is stored, no deadline passes too early, and time is not behind a record`() {
        for seed in 0..<trialCount(base: 500) {
            var world = ClockWorld(seed: seed)
            for _ in 0..<60 {
                world.step(with: ClockWorld.Event.allCases.filter { $0 != .recordIsStored })
                #expect(world.latestPassedTime <= world.clusterTime, "seed \(seed)")
                #expect(world.estimatedTime >= world.newestReadStamp, "seed \(seed)")
            }
        }
    }

    @Test func `once a record is stored, both times are the cluster's, at most one acknowledgement behind`() {
        for seed in 0..<trialCount(base: 500) {
            var world = ClockWorld(seed: seed)
            for _ in 0..<100 {
                world.step(with: ClockWorld.Event.allCases)
                guard world.hasStoredRecord else { continue }
                #expect(world.latestPassedTime == world.estimatedTime, "seed \(seed)")
                let earliest = world.clusterTime - Int64(ClockWorld.acknowledgementMilliseconds)
                #expect((earliest...world.clusterTime).contains(world.estimatedTime), "seed \(seed)")
            }
        }
    }

    @Test func `before the first record, no deadline counts as passed, and the time is the machine's`() {
        let clock = SenderClock(now: Self.start)
        // The first second of 1970, which is before any deadline.
        #expect(clock.latestPassedTime(machineTime: Self.machineTime, at: Self.later) <= 1_000)
        #expect(clock.estimatedTime(machineTime: Self.machineTime, at: Self.later) == Self.machineTime)
    }

    @Test func `impossible timestamps do not count`() {
        var clock = SenderClock(now: Self.start)
        clock.noteRead(stamp: -1, at: Self.later)
        clock.noteRead(stamp: .max, at: Self.later)
        clock.noteStored(stamp: .max, at: Self.later)
        #expect(clock.estimatedTime(machineTime: Self.machineTime, at: Self.later) == Self.machineTime)
    }
}
