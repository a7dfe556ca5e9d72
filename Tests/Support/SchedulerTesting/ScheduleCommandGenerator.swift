internal import Identifiers
package import JSON
internal import Payloads
package import Schedules
package import Sends
internal import Simulation

/// A generator of the commands that phones and backends give to the scheduler. Most schedule a send for a few seconds
/// later, some replace or cancel, and a few repeat an idempotency key.
package struct ScheduleCommandGenerator {
    // The numbers of different names. They are small, so that commands of one user replace and cancel each other.
    private static let userCount = 200
    private static let activityCount = 3
    private static let idCount = 4
    private static let idempotencyKeyCount = 50

    /// The delays of three timers in four are shorter than this.
    private static let shortDelayMillisecondsMax = 3000
    /// The delays of one timer in four are shorter than this.
    private static let longDelayMillisecondsMax = 12_000

    private let replyPartitions: Int32
    private var random: SeededGenerator
    private var count = 0

    /// - Parameter partitions: The number of partitions of `replies`.
    package init(seed: UInt64, partitions: Int) {
        replyPartitions = Int32(partitions)
        random = SeededGenerator(seed: seed)
    }

    /// Returns the next command. Each has its own request id, and each schedule its own send.
    ///
    /// - Parameter now: The time in milliseconds since 1970.
    package mutating func next(at now: Int64) -> ScheduleCommand {
        count += 1
        let user = "user-\(random.number(below: Self.userCount))"
        let activity = "chest_\(random.number(below: Self.activityCount))"
        let id = "s\(random.number(below: Self.idCount))"
        let action: ScheduleCommand.Action
        switch random.number(below: 20) {
        case ..<16: action = .schedule(makeSchedule(id: id, activity: activity, user: user, at: now))
        case 16, 17: action = .cancel(.activity(activity))
        case 18: action = .cancel(.id(id))
        default: action = .list(10)
        }
        return ScheduleCommand(
            action, app: "shop", owner: .recipient(.user(user)),
            replyTo: .init(partition: Int32(count) % replyPartitions, request: "q\(count)"), acceptedAt: now)
    }

    private mutating func makeSchedule(
        id: String, activity: String, user: String, at now: Int64
    ) -> Schedule {
        var send = Self.makeSend(id: "r-\(count)", user: user, at: now)
        send.owner = .user(user)
        let isLong = random.number(below: 4) == 0
        let delay = Int64(
            random.number(below: isLong ? Self.longDelayMillisecondsMax : Self.shortDelayMillisecondsMax))
        var schedule = Schedule(
            id: id, name: "Chest", activity: activity,
            dueTime: random.number(below: 2) == 0 ? .offset(delay) : .at(now + delay), send: send)
        // An hour, so that restarts of a process do not expire timers by accident. A few may not be late at all.
        schedule.latenessMillisecondsMax = random.number(below: 50) == 0 ? 0 : 3_600_000
        if random.number(below: 20) == 0 {
            let key = random.number(below: Self.idempotencyKeyCount)
            schedule.idempotency = .init(key: "k\(key)", fingerprint: "f\(random.number(below: 2))")
        }
        return schedule
    }

    /// A JSON object for fields that need one.
    package static let contentState = RawJSON(
        text: #"{"remaining":0,"status":"ready","#
            + #""chest":{"kind":"golden","level":7,"rewards":["coins","gems","cards"]}}"#)

    /// Returns an update of the group `chest` for one user.
    package static func makeSend(id: String, user: String, at now: Int64) -> Send {
        var content = PushContent(.update)
        content.contentState = contentState
        return Send(
            id: id, app: "shop", group: "chest", audience: .users([user]), content: content,
            priority: .immediate, acceptedAt: now)
    }
}

extension RawJSON {
    fileprivate init(text: String) {
        let bytes = Array(text.utf8)
        self = unsafe bytes.withUnsafeBytes { unsafe RawJSON(accepted: $0) }
    }
}
