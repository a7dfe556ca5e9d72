import Identifiers
import Lifecycle
import Payloads
import Schedules
import Sends
import Simulation
import StageSupport
import Store

@testable import Scheduler

/// A simulation of a cluster with two scheduler processes that can die. One of them owns all partitions at a time. It
/// runs the scheduler's decisions without Kafka and without files, and compares each committed record with the commands
/// that were accepted.
///
/// A history consists of random steps (`step`). At the end (`finish`) nothing fails any more, and every timer must end.
final class SchedulerWorld {
    static let partitionCount = 2
    /// The number of timers that fire in one transaction.
    static let firesMax = 5
    private static let faultsMax = 5
    private static let users = ["ada", "ben", "eve"]
    private static let activities = ["chest_0", "chest_1"]
    /// The idempotency keys.
    private static let keys = ["k1", "k2"]
    /// The time after which a jump of a clock is believed.
    static let confirmationMilliseconds = 30_000
    /// The time without a timestamp of the cluster after which the scheduler writes a record to itself, for its stamp.
    private static let timeProbeMilliseconds = 10_000
    private static let finishingSteps = 4000
    private static let finishingStepMilliseconds: Int64 = 500
    /// The largest number of timers that a process keeps in memory because its view has not read them.
    private static let unwrittenTimersMax = 1000

    enum TimerOutcome: Equatable { case fired, expired, cancelled, replaced }

    /// An accepted timer. Its outcome is nil while it waits.
    struct Timer {
        var row: TimerRow
        var partition: Int
        var outcome: TimerOutcome?
    }

    /// The first request with an idempotency key.
    struct AcceptedRequest {
        let fingerprint: String
        let answer: GatewayReply.ScheduledTimer
        /// The timestamp of its record, in milliseconds since 1970.
        let at: Int64
    }

    var random: SeededGenerator

    // The clocks.
    /// The cluster's time in milliseconds since 1970.
    private(set) var time: Int64 = 1_800_000_000_000
    /// The milliseconds by which the machine's clock is ahead of the cluster's.
    private var machineAhead: Int64 = 0

    // The cluster and the processes.
    /// The records in the cluster, by partition.
    var logs = Array(repeating: WorldLog(), count: partitionCount)
    /// The disks, by process and partition.
    var disks = Array(repeating: Array(repeating: WorldView(), count: partitionCount), count: 2)
    /// The number of the process that owns the partitions: 0 or 1.
    var process = 0
    /// The memory of this process, by partition.
    var memory = Array(repeating: WorldMemory(), count: partitionCount)
    /// The clock of this process.
    lazy var clock = newClock
    /// The time at which this process has read a timestamp of the cluster last.
    var lastStampAt: Instant?
    let timerCommands = TimerCommands()
    var newClock: ClusterClock {
        ClusterClock(now: now, confirmationMilliseconds: Self.confirmationMilliseconds)
    }

    // The knowledge for checks.
    private var lastSendNumber = 0
    /// The accepted timers by the id of their send.
    var timers: [String: Timer] = [:]
    /// The accepted requests with an idempotency key, by `OWNER/KEY`.
    var acceptedRequests: [String: AcceptedRequest] = [:]
    /// Descriptions of the faults of the scheduler that were found.
    private(set) var faults: [String] = []
    // The numbers of timers by their outcome, and of those that a cancel was too late for.
    var fired = 0
    var cancelled = 0
    var expired = 0
    var tooLate = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// The steady clock of the machine.
    var now: Instant { Instant(nanoseconds: (time - 1_700_000_000_000) * 1_000_000) }
    private var machineTime: Int64 { time + machineAhead }

    func reportFault(_ text: String) { if faults.count < Self.faultsMax { faults.append(text) } }

    // MARK: Events

    /// Causes one random event.
    func step() {
        clock.observe(machineTime: machineTime, at: now)
        let partition = random.number(below: Self.partitionCount)
        // In 1,000 steps about 200 write a command, 230 let time pass, and so on.
        switch random.number(below: 1000) {
        case ..<200: writeCommand(to: partition)
        case ..<430: time += Int64(random.number(below: random.number(below: 10) == 0 ? 20_000 : 800))
        case ..<620: decide(partition, mayFail: true)
        case ..<820: fire(mayFail: true)
        case ..<960: readView(partition, count: 1 + random.number(below: 20))
        case ..<985: requestEnd(of: partition)
        case ..<990: switchProcess(to: process)
        case ..<994: switchProcess(to: 1 - process)
        case ..<997: changeMachineClock()
        case ..<998: time += Int64(random.number(below: 3_600_000))
        default: writeTimeProbe(to: partition)
        }
    }

    private func changeMachineClock() {
        machineAhead += [-3_600_000, -60_000, -4000, 4000, 60_000, 3_600_000][random.number(below: 6)]
        if abs(machineAhead) > 4 * 3_600_000 { machineAhead = 0 }
        clock.observe(machineTime: machineTime, at: now)
    }

    /// Writes a record that has no command. Its timestamp tells the scheduler the time of the cluster.
    private func writeTimeProbe(to partition: Int) {
        logs[partition].commands.append(.init(stamp: time, command: nil))
    }

    private func writeCommand(to partition: Int) {
        let user = Self.users[random.number(below: Self.users.count)] + "\(partition)"
        let owner = ScheduleOwner.recipient(.user(user))
        let activity = Self.activities[random.number(below: Self.activities.count)]
        let id = "s\(random.number(below: 6))"
        let action: ScheduleCommand.Action
        switch random.number(below: 10) {
        case ..<7: action = .schedule(makeSchedule(id, activity, user))
        case 7: action = .cancel(.activity(activity))
        case 8: action = .cancel(.id(id))
        default: action = .cancel(.send("send-\(max(0, lastSendNumber - random.number(below: 10)))"))
        }
        let command = ScheduleCommand(action, app: "shop", owner: owner, acceptedAt: machineTime)
        logs[partition].commands.append(.init(stamp: time, command: command))
    }

    private func makeSchedule(_ id: String, _ activity: String, _ user: String) -> Schedule {
        lastSendNumber += 1
        var content = PushContent(.update)
        content.contentState = raw("{}")
        let send = Send(
            id: "send-\(lastSendNumber)", app: "shop", group: activity, audience: .users([user]),
            content: content,
            priority: .immediate, acceptedAt: machineTime)
        let delay = Int64(
            random.number(below: 4) == 0 ? random.number(below: 600_000) : random.number(below: 8000))
        let dueTime: Schedule.DueTime =
            random.number(below: 2) == 0 ? .offset(delay) : .at(time + delay - 500)
        var schedule = Schedule(id: id, activity: activity, dueTime: dueTime, send: send)
        schedule.latenessMillisecondsMax =
            [0, 5000, Schedule.latenessMillisecondsDefault][random.number(below: 3)]
        if random.number(below: 3) == 0 {
            schedule.idempotency = Idempotency(
                key: Self.keys[random.number(below: Self.keys.count)],
                fingerprint: "f\(random.number(below: 2))")
        }
        return schedule
    }

    // MARK: The end

    /// Whether the process has read no timestamp of the cluster for long, so that it asks for the time.
    private var needsTimeProbe: Bool {
        guard let lastStampAt else { return true }
        return now.milliseconds(since: lastStampAt) >= Self.timeProbeMilliseconds
    }

    /// Runs for 4,000 × 500 ms without failures. That is longer than any timer waits, so every timer must have ended.
    func finish() {
        for _ in 0..<Self.finishingSteps {
            clock.observe(machineTime: machineTime, at: now)
            for partition in 0..<Self.partitionCount {
                // All rows. Half of the largest number does not overflow when it is added to an offset.
                readView(partition, count: Int.max / 2)
                decide(partition, mayFail: false)
                if needsTimeProbe || clock.isDoubtful { writeTimeProbe(to: partition) }
                requestEnd(of: partition)
            }
            fire(mayFail: false)
            time += Self.finishingStepMilliseconds
        }
        let waitingTimers = timers.values.filter { $0.outcome == nil }
        if !waitingTimers.isEmpty {
            reportFault("\(waitingTimers.count) timers never fired, such as \(waitingTimers[0].row.send.id)")
        }
        if memory.contains(where: { $0.upcomingTimers.unwrittenCount > Self.unwrittenTimersMax }) {
            reportFault("the memory grows without bound")
        }
    }
}
