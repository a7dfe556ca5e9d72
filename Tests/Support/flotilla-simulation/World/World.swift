import CSimulatedLibrary
import Containers
import Glibc
import Lifecycle
import Simulation
import Telemetry
import Topics

/// A law that the fleet broke.
struct Violation: Error, CustomStringConvertible {
    /// The laws. The raw value is the exit status of a story that broke it.
    enum Law: Int32 {
        case noProcessEnds = 10
        case start
        case oneStart
        case newestState
        case noLostEnd
        case oneReceipt
        case token
        case readiness
        case erasure
        case bounds
        case early
    }

    let law: Law
    let description: String

    init(_ law: Law, _ description: String) { (self.law, self.description) = (law, description) }
}

/// One installation of Flotilla in a seeded world of virtual time: processes, a Kafka cluster, phones and a backend.
///
/// The world is a queue of events. Everything happens in one of them, on one thread, and every choice comes from the
/// seed. So a seed tells the same story on every machine.
final class World {
    /// The true wall clock at the beginning of every story, in milliseconds since 1970.
    static let startMilliseconds: Int64 = 1_763_600_000_000
    /// The steady clock at the beginning, so that no time is zero.
    private static let steadyStart = Instant(nanoseconds: 1_000_000_000_000)
    private static let lineCountMax = 400
    /// The time in which something must be done if nothing is wrong.
    private static let calmMilliseconds = 1000
    /// The time that the fleet has to recover after a fault.
    private static let recoveryMilliseconds = 15_000
    /// The time for which a past fault is kept.
    private static let faultRetentionMilliseconds = 120_000

    private struct Event: Comparable {
        let time: Instant
        let order: UInt64
        let run: () throws -> Void

        static func < (left: Event, right: Event) -> Bool {
            left.time == right.time ? left.order < right.order : left.time < right.time
        }
        static func == (left: Event, right: Event) -> Bool { left.order == right.order }
    }

    let seed: UInt64
    let layout: TopicLayout
    private(set) var cluster: VirtualCluster! = nil
    var random: SeededGenerator
    private var events = MinHeap<Event>()
    private var eventCount: UInt64 = 0
    /// The true time.
    private(set) var now = World.steadyStart
    var processes: [SimulatedProcess] = []
    private(set) var threads: DescriptorThreads! = nil
    /// The first broken law that an actor has noticed in a call that cannot throw.
    var violation: Violation?
    /// The times at which senders died or stopped, or connections to APNs broke. The outcome of a start that was under way
    /// is unknown then, and it is not sent again.
    var uncertainStarts: [Instant] = []
    /// The times in which something was wrong, without those that are long over.
    private(set) var faults: [ClosedRange<Instant>] = []
    /// Whether no send and no report comes for a long time. Then the loops run less often.
    var isIdle = false
    private(set) var story: [String] = []
    let tellsStory: Bool
    /// A number that depends on everything that happened.
    private(set) var trace: UInt64 = 0xcbf2_9ce4_8422_2325
    /// The directory of the processes' data.
    let directory: String

    init(seed: UInt64, lanes: Int, directory: String, tellsStory: Bool) {
        self.seed = seed
        self.directory = directory
        self.tellsStory = tellsStory
        random = SeededGenerator(seed: seed)
        layout = TopicLayout(lanes: lanes, replication: 3)
        MachineClock.set(now, wallOffset: trueWallOffset)
        simulated_random_set(seed)
        threads = DescriptorThreads(in: self)
        cluster = VirtualCluster(layout: layout, trueWallOffset: trueWallOffset, seed: random.next())
        cluster.onAppend = { [unowned self] log in
            record(UInt64(log.endOffset) << 8 ^ UInt64(log.partition))
            wakeReaders(of: log)
        }
    }

    /// The true wall clock less the steady clock, in nanoseconds.
    var trueWallOffset: Int64 { Self.startMilliseconds * 1_000_000 - Self.steadyStart.nanoseconds }
    /// The true wall clock, in milliseconds since 1970.
    var wallMilliseconds: Int64 { (now.nanoseconds + trueWallOffset) / 1_000_000 }
    var elapsedMilliseconds: Int { now.milliseconds(since: Self.steadyStart) }

    // MARK: Events

    /// Plans an event.
    func schedule(at time: Instant, _ run: @escaping () throws -> Void) {
        eventCount += 1
        events.push(Event(time: max(time, now), order: eventCount, run: run))
    }

    func schedule(inMilliseconds milliseconds: Int, _ run: @escaping () throws -> Void) {
        schedule(at: now.advanced(byMilliseconds: milliseconds), run)
    }

    /// Runs the events of the next milliseconds, in their order.
    func run(forMilliseconds milliseconds: Int) throws {
        let end = now.advanced(byMilliseconds: milliseconds)
        while let next = events.first, next.time <= end {
            _ = events.pop()
            now = next.time
            record(UInt64(bitPattern: now.nanoseconds))
            MachineClock.set(now, wallOffset: trueWallOffset)
            try next.run()
            if let violation { throw violation }
            threads.planRuns()
        }
        now = end
    }

    private func wakeReaders(of log: VirtualLog) {
        let partition = Partition(topic: log.topic, number: log.partition)
        let soon = max(now, MachineClock.now).advanced(byMilliseconds: 1 + random.number(below: 3))
        for process in processes where process.clients.contains(where: { $0.isReading(partition) }) {
            process.wake(at: soon)
        }
    }

    // MARK: The story

    func tell(_ text: @autoclosure () -> String) {
        let line = "\(timeText) \(text())"
        for byte in line.utf8 { record(UInt64(byte)) }
        story.append(line)
        if story.count > Self.lineCountMax { story.removeFirst(story.count - Self.lineCountMax) }
        if tellsStory { print(line) }
    }

    private var timeText: String {
        let milliseconds = elapsedMilliseconds
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    /// Adds a number to the trace.
    func record(_ number: UInt64) { trace = (trace ^ number) &* 0x100_0000_01b3 }

    // MARK: Faults

    /// Notes that something is wrong from now on, for a time.
    func noteFault(forMilliseconds milliseconds: Int) {
        faults.removeAll { now.milliseconds(since: $0.upperBound) > Self.faultRetentionMilliseconds }
        faults.append(now...now.advanced(byMilliseconds: milliseconds))
    }

    /// Returns the time until which something that begins at `time` must be done. That is a second later if nothing is
    /// wrong. Each fault that begins before the due time moves it to the end of the recovery from the fault.
    ///
    /// - Parameter troubles: The faults of one app, which count besides those of the whole fleet.
    func due(after time: Instant, besides troubles: [ClosedRange<Instant>]) -> Instant {
        var due = time.advanced(byMilliseconds: Self.calmMilliseconds)
        // A later due time can lie behind the beginning of a further fault.
        var isChanged = true
        while isChanged {
            isChanged = false
            for fault in faults + troubles where fault.lowerBound <= due {
                let recovered = fault.upperBound.advanced(byMilliseconds: Self.recoveryMilliseconds)
                if recovered > due { (due, isChanged) = (recovered, true) }
            }
        }
        return due
    }
}
