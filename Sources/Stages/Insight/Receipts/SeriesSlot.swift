/// The place of one period of an app's series (`PeriodTally`) in a lane's file. The places of a resolution are used
/// again in turn, like those of a ring buffer. So the rows of an app are at most `SeriesResolution.rowsMax` in each lane.
package struct SeriesSlot: Sendable, Hashable {
    package var app: String
    package var resolution: SeriesResolution
    package var number: Int

    package init(of time: Int64, app: String, resolution: SeriesResolution) {
        (self.app, self.resolution) = (app, resolution)
        number = Int(max(0, time) / resolution.milliseconds % Int64(resolution.slotCount))
    }

    /// The prefix, and the number of the slot in four bytes.
    var key: [UInt8] {
        var key = Self.prefix(app: app, resolution: resolution)
        BigEndian.append(UInt32(number), to: &key)
        return key
    }

    /// Returns the key prefix of a series: the app and the resolution, each with a zero byte behind it.
    static func prefix(app: String, resolution: SeriesResolution) -> [UInt8] {
        RowKey.joining(app, resolution.rawValue)
    }
}

/// The lengths of the periods of a series, with the number of periods that a file keeps.
package enum SeriesResolution: String, CaseIterable, Sendable {
    /// For the last quarter of an hour.
    case tenSeconds = "10s"
    /// For the last hour.
    case minute = "1m"
    /// For the last day.
    case tenMinutes = "10m"

    package var milliseconds: Int64 {
        switch self {
        case .tenSeconds: 10_000
        case .minute: 60_000
        case .tenMinutes: 600_000
        }
    }

    /// The number of periods: those of the shown time, and some more for the period that has begun.
    package var slotCount: Int {
        switch self {
        case .tenSeconds: 96
        case .minute: 64
        case .tenMinutes: 150
        }
    }

    /// The limit of rows of one app in one lane.
    package static var rowsMax: Int { allCases.reduce(0) { $0 + $1.slotCount } }

    /// Returns the beginning of the period with this time, in milliseconds since 1970.
    package func beginning(of time: Int64) -> Int64 { max(0, time) / milliseconds * milliseconds }
}
