package import InstallationRecords

/// The number of events by app, hour, code, activity type and group.
package struct EventCounts: Sendable, Hashable {
    package static let hourMilliseconds: Int64 = 3_600_000

    package struct Key: Sendable, Hashable {
        package var app: String
        /// The hours from 1970 to the event, by the phone's clock within bounds.
        package var hour: Int64
        package var code: Event.Code
        package var attributesType: String?
        package var group: String?
    }

    package private(set) var counts: [Key: Int] = [:]

    package init() {}

    package mutating func add(_ event: Event) {
        let key = Key(
            app: event.app, hour: event.eventTime / Self.hourMilliseconds, code: event.code,
            attributesType: event.attributesType, group: event.group)
        counts[key, default: 0] += 1
    }

    /// The number of events by app, hour, code and activity type, of all groups.
    package var totals: [Key: Int] {
        var totals: [Key: Int] = [:]
        for (key, count) in counts {
            var total = key
            total.group = nil
            totals[total, default: 0] += count
        }
        return totals
    }

    package mutating func removeAll() { counts.removeAll(keepingCapacity: true) }
}
