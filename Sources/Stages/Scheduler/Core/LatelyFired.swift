package import LiveActivity

/// The timers that fired within the last minute. They let the answer to a late cancel say that it came too
/// late. They are only in memory. After a takeover the answer says that there was nothing to cancel, which is
/// also true.
package struct LatelyFired {
    package static let keptMilliseconds: Int64 = 60_000
    /// The limit per partition. Beyond it the oldest are forgotten early.
    package static let countMax = 5000

    /// The names by which a cancel can select a timer that has fired.
    package struct Fired: Sendable {
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

    private var fired: [(timer: Fired, at: Int64)] = []
    private var first = 0

    package init() {}

    /// - Parameter time: The time of firing in milliseconds since 1970.
    package mutating func add(_ timer: Fired, at time: Int64) {
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

    package func count(_ choice: ScheduleOrder.Choice, of owner: ScheduleOwner, app: String, at time: Int64)
        -> Int
    {
        let key = owner.key(app: app)
        return fired[first...].count { one in
            one.timer.owner == key && time - one.at <= Self.keptMilliseconds
                && choice.means(id: one.timer.id, activity: one.timer.activity, send: one.timer.send)
        }
    }
}

extension ScheduleOrder.Choice {
    /// Returns whether this choice selects a timer.
    func means(id: String, activity: String?, send: String) -> Bool {
        switch self {
        case .activity(let name): activity.map { name.isExactly($0) } ?? false
        case .id(let name): name.isExactly(id)
        case .send(let name): name.isExactly(send)
        case .everything: true
        }
    }
}
