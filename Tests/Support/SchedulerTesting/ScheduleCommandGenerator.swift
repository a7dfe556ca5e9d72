internal import Identifiers
package import JSON
internal import Payloads
package import Schedules
package import Sends
internal import Simulation

/// Orders as phones and backends give them. Most schedule a send for a few seconds later, some replace or
/// cancel, and a few repeat an idempotency key.
package struct ScheduleCommandGenerator {
    private static let userCount = 200
    private static let activityCount = 3
    private static let idCount = 4
    private static let idempotencyKeyCount = 50

    private let partitions: Int32
    private var random: SeededGenerator
    private var count = 0

    /// - Parameter partitions: The number of partitions of `replies`.
    package init(seed: UInt64, partitions: Int) {
        self.partitions = Int32(partitions)
        random = SeededGenerator(seed: seed)
    }

    /// - Parameter now: Milliseconds since 1970.
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
            replyTo: .init(partition: Int32(count) % partitions, request: "q\(count)"), acceptedAt: now)
    }

    private mutating func makeSchedule(
        id: String, activity: String, user: String, at now: Int64
    ) -> Schedule {
        var send = Self.makeSend(id: "r-\(count)", user: user, at: now)
        send.owner = .user(user)
        let delay = Int64(random.number(below: random.number(below: 4) == 0 ? 12_000 : 3000))
        var schedule = Schedule(
            id: id, name: "Chest", activity: activity,
            dueTime: random.number(below: 2) == 0 ? .offset(delay) : .at(now + delay), send: send)
        // A long lateness, so that restarts of a process do not expire timers by accident.
        schedule.latenessMillisecondsMax = random.number(below: 50) == 0 ? 0 : 3_600_000
        if random.number(below: 20) == 0 {
            let key = random.number(below: Self.idempotencyKeyCount)
            schedule.idempotency = .init(key: "k\(key)", fingerprint: "f\(random.number(below: 2))")
        }
        return schedule
    }

    /// A valid JSON object for any field that needs one.
    package static let contentState = RawJSON(
        state: #"{"remaining":0,"status":"ready","#
            + #""chest":{"kind":"golden","level":7,"rewards":["coins","gems","cards"]}}"#)

    package static func makeSend(id: String, user: String, at now: Int64) -> Send {
        var content = PushContent(.update)
        content.contentState = contentState
        return Send(
            id: id, app: "shop", group: "chest", audience: .users([user]), content: content,
            priority: .immediate,
            acceptedAt: now)
    }
}

extension RawJSON {
    fileprivate init(state: String) {
        let bytes = Array(state.utf8)
        self = unsafe bytes.withUnsafeBytes { unsafe RawJSON(accepted: $0) }
    }
}
