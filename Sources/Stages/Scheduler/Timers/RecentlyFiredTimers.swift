internal import Identifiers
package import Schedules
internal import Sends

/// The timers that fired within the last minute. With them the answer to a cancel can say that it came too late.
///
/// They are only in memory. After a takeover the answer says that there was nothing to cancel, which is also true.
package struct RecentlyFiredTimers {
    package static let keptMilliseconds: Int64 = 60_000
    /// The most timers of a partition. Beyond it the oldest are forgotten early.
    package static let countMax = 5000

    /// A timer that has fired, by the names with which a cancel can select it.
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

    /// The fired timers, the oldest first. Those before `firstIndex` are forgotten.
    private var fired: [(timer: Timer, at: Int64)] = []
    private var firstIndex = 0

    package init() {}

    /// - Parameter time: the time of firing, in milliseconds since 1970.
    package mutating func add(_ timer: Timer, at time: Int64) {
        fired.append((timer, time))
        while firstIndex < fired.count,
            fired.count - firstIndex > Self.countMax || time - fired[firstIndex].at > Self.keptMilliseconds
        {
            firstIndex += 1
        }
        // The array is shortened seldom, because that moves all elements.
        if firstIndex > Self.countMax {
            fired.removeFirst(firstIndex)
            firstIndex = 0
        }
    }

    /// Returns the number of an owner's timers that a cancel selects and that fired within the last minute.
    package func count(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    )
        -> Int
    {
        let ownerKey = owner.key(app: app)
        return fired[firstIndex...].count { firing in
            let timer = firing.timer
            return timer.owner == ownerKey && time - firing.at <= Self.keptMilliseconds
                && selection.selects(id: timer.id, activity: timer.activity, send: timer.send)
        }
    }
}

extension ScheduleCommand.TimerSelection {
    /// Returns whether a cancel with this selection selects the timer.
    func selects(id: String, activity: String?, send: String) -> Bool {
        switch self {
        case .activity(let name): activity.map { name.isExactlyEqual(to: $0) } ?? false
        case .id(let name): name.isExactlyEqual(to: id)
        case .send(let name): name.isExactlyEqual(to: send)
        }
    }
}
