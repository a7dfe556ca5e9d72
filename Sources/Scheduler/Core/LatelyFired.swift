package import LiveActivity

/// What went within the last minute, so that a cancel that comes too late hears so. It is in memory alone: after a
/// takeover the cancel hears that there was nothing to cancel, which is true as well.
package struct LatelyFired {
    package static let keptMilliseconds: Int64 = 60_000
    /// Of one partition; beyond it the oldest are forgotten earlier.
    package static let countMax = 5000

    /// What a cancel can mean of a timer that went.
    package struct Fired: Sendable {
        fileprivate let owner: [UInt8]
        fileprivate let id: String
        fileprivate let activity: String?
        fileprivate let send: String

        /// Nil for an end that nobody has scheduled by name.
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

    /// - Parameter time: milliseconds since 1970.
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
    /// Whether a timer is meant.
    func means(id: String, activity: String?, send: String) -> Bool {
        switch self {
        case .activity(let name): activity.map { name.isExactly($0) } ?? false
        case .id(let name): name.isExactly(id)
        case .send(let name): name.isExactly(send)
        case .everything: true
        }
    }
}
