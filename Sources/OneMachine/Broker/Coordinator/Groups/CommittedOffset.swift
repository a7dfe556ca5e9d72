internal import Telemetry

/// A group's offset in one partition, with the text that the client gave with it.
struct CommittedOffset: Equatable {
    var offset: Int64
    var leaderEpoch: Int32
    var metadata: String
    var committedAt: WallTime
}
