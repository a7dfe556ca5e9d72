package import JSON
package import RecordFormat

/// Any record of `schedules`: a command or a time probe.
package enum ScheduleRequest: Sendable, Hashable {
    case command(ScheduleCommand)
    /// A record without content. The scheduler writes it, reads it back, and learns the cluster's time from its
    /// timestamp.
    case timeProbe

    /// The value of a time probe's record.
    package static let timeProbeBytes = Array(#"{"v":1,"asks":"time"}"#.utf8)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> ScheduleRequest
    {
        try unsafe ScheduleCommand.read(bytes, with: reader) { object in
            object["asks"].isMissing ? .command(ScheduleCommand(from: object)) : .timeProbe
        }
    }
}
