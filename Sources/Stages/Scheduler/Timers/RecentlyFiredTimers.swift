internal import Identifiers
package import Schedules
internal import Sends

/// The timers that fired within the last minute. They let the answer to a late cancel say that it came too
/// late. They are only in memory. After a takeover the answer says that there was nothing to cancel, which is
/// also true.
package struct RecentlyFiredTimers {
    package static let keptMilliseconds: Int64 = 60_000
    /// The limit per partition. Beyond it the oldest are forgotten early.
    package static let countMax = 5000

    /// The names by which a cancel can select a timer that has fired.
    package struct Timer: Sendable {
        fileprivate let owner: [UInt8]
        fileprivate let id: String
        fileprivate let activity: String?
        fileprivate let send: String

        /// Returns nil for the automatic end of a group, which has no schedule id.
        package init?(_ row: TimerRow) {
            guard let id = row.id else { return nil }
            owner = row.owner.key(app: row.app)
            self.id = id
            activity = row.activity
            send = row.send.id
        }
    }

    private var fired: [(timer: Timer, at: Int64)] = []
    private var first = 0

    package init() {}

    /// - Parameter time: The time of firing in milliseconds since 1970.
    package mutating func add(_ timer: Timer, at time: Int64) {
        fired.append((timer, time))
        while first < fired.count,
            fired.count - first > Self.countMax || time - fired[first].at > Self.keptMilliseconds
        {
            first += 1
        }
        if first > Self.countMax {
            fired.removeFirst(first)
            first = 0
        }
    }

    package func count(
        matching choice: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String, at time: Int64
    )
        -> Int
    {
        let key = owner.key(app: app)
        return fired[first...].count { one in
            one.timer.owner == key && time - one.at <= Self.keptMilliseconds
                && choice.selects(id: one.timer.id, activity: one.timer.activity, send: one.timer.send)
        }
    }
}

extension ScheduleCommand.TimerSelection {
    /// Returns whether this choice selects a timer.
    func selects(id: String, activity: String?, send: String) -> Bool {
        switch self {
        case .activity(let name): activity.map { name.isExactlyEqual(to: $0) } ?? false
        case .id(let name): name.isExactlyEqual(to: id)
        case .send(let name): name.isExactlyEqual(to: send)
        case .everything: true
        }
    }
}
