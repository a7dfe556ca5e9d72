package import LiveActivity
internal import Simulation

/// Orders as phones and backends give them. Most schedule a send for a few seconds later, some replace or
/// cancel, and a few repeat an idempotency key.
package struct OrderMix {
    private static let users = 200
    private static let activities = 3
    private static let ids = 4
    private static let keys = 50

    private let partitions: Int32
    private var chance: SeededGenerator
    private var count = 0

    /// - Parameter partitions: The number of partitions of `replies`.
    package init(seed: UInt64, partitions: Int) {
        self.partitions = Int32(partitions)
        chance = SeededGenerator(seed)
    }

    /// - Parameter now: Milliseconds since 1970.
    package mutating func next(at now: Int64) -> ScheduleCommand {
        count += 1
        let user = "user-\(chance.below(Self.users))"
        let activity = "chest_\(chance.below(Self.activities))"
        let id = "s\(chance.below(Self.ids))"
        let wish: ScheduleCommand.Action
        switch chance.below(20) {
        case ..<16: wish = .schedule(makeSchedule(id, of: activity, for: user, at: now))
        case 16, 17: wish = .cancel(.activity(activity))
        case 18: wish = .cancel(.id(id))
        default: wish = .list(10)
        }
        return ScheduleCommand(
            wish, app: "shop", owner: .recipient(.user(user)),
            replyTo: .init(partition: Int32(count) % partitions, request: "q\(count)"), acceptedAt: now)
    }

    private mutating func makeSchedule(
        _ id: String, of activity: String, for user: String, at now: Int64
    ) -> Schedule {
        var send = Self.makeSend("r-\(count)", user: user, at: now)
        send.owner = .user(user)
        let delay = Int64(chance.below(chance.below(4) == 0 ? 12_000 : 3000))
        var schedule = Schedule(
            id: id, name: "Chest", activity: activity,
            dueTime: chance.below(2) == 0 ? .offset(delay) : .at(now + delay), send: send)
        // A long lateness, so that restarts of a process do not expire timers by accident.
        schedule.latenessMillisecondsMax = chance.below(50) == 0 ? 0 : 3_600_000
        if chance.below(20) == 0 {
            let key = chance.below(Self.keys)
            schedule.idempotency = .init(key: "k\(key)", fingerprint: "f\(chance.below(2))")
        }
        return schedule
    }

    /// A valid JSON object for any field that needs one.
    package static let object = RawJSON(
        state: #"{"remaining":0,"status":"ready","#
            + #""chest":{"kind":"golden","level":7,"rewards":["coins","gems","cards"]}}"#)

    package static func makeSend(_ id: String, user: String, at now: Int64) -> Send {
        var content = PushContent(.update)
        content.contentState = object
        return Send(
            id: id, app: "shop", group: "chest", audience: .users([user]), content: content, priority: 10,
            acceptedAt: now)
    }
}

extension RawJSON {
    fileprivate init(state: String) {
        let bytes = Array(state.utf8)
        self = unsafe bytes.withUnsafeBytes { unsafe RawJSON(accepted: $0) }
    }
}
